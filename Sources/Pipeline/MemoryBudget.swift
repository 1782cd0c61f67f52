import Expand
import Ingest
import Kafka
import Model

/// The most that a worker keeps in memory: the sum of what bounds its parts, none of which depends
/// on how many follow. For the limit of a container: a worker that nothing holds up needs about a
/// tenth of it, and all of it only where every slot of every lane has the largest pages and
/// payloads there are while Apple answers nothing.
package struct MemoryBudget: Sendable, Equatable {
  package struct Part: Sendable, Equatable {
    package let name: String
    package let bytes: Int
  }

  package let lanes: Int
  /// Of one lane.
  package let lane: [Part]
  /// Of all lanes together.
  package let process: [Part]

  /// The program, its libraries and templates, the allocator's own.
  private static let programBytes = 40 << 20
  /// The event of a fan-out joined with its template, in each of its languages.
  private static let preparedBytes = 256 << 10
  /// The memory of a push under way besides its bytes.
  private static let entryBytes = 256
  /// A payload of 4 KiB (VoIP: 5 KiB) and the names around it, in an arena that doubles.
  private static let pushBytes = 6 << 10

  /// - Parameters:
  ///   - connectionBytes: of one lane: `DeliverOptions.maximumConnectionBytes` of each route.
  ///   - probeBytes: what clients of the probes can make the process keep.
  ///   - publishesOutcomes: of single pushes.
  ///   - spanBytes: of traces, that wait for the collector.
  package init(
    lanes: Int, limits: LaneLimits, ingest: IngestOptions, expand: ExpandOptions,
    connectionBytes: Int, kafka: KafkaOptions, probeBytes: Int,
    publishesOutcomes: Bool = false, spanBytes: Int = 0
  ) {
    self.lanes = lanes
    let batch = limits.batchPushes * (Self.pushBytes + Self.entryBytes)
    // The entries of a batch of usual pushes are an eighth of its bytes.
    let batches = (limits.batchBytes + 2 * limits.awaitingBytes) / 8 * 9
    lane =
      [
        Part(name: "pages", bytes: limits.slots * (expand.maximumReaderBytes + Self.preparedBytes)),
        Part(name: "notes", bytes: limits.slots * OutcomeNotes.maximumBytes),
        Part(name: "batches", bytes: batches + limits.slots * batch),
        Part(name: "connections", bytes: connectionBytes),
        Part(
          name: "deferred",
          bytes: (DeferralCounts.maximumOnTheirWay + LimitedSegments.maximumWaiting)
            * ingest.maximumRecordBytes),
      ] + (publishesOutcomes ? [Part(name: "outcomes", bytes: Self.outcomeBytes(limits))] : [])
    process =
      [
        Part(
          name: "records",
          bytes: WorkKind.allCases.count * (Intake.maximumBytes + ingest.maximumRecordBytes)
            + DeferralCounts.maximumLastTries * ingest.maximumRecordBytes),
        Part(name: "Kafka", bytes: kafka.maximumMemoryBytes),
        Part(name: "probes", bytes: probeBytes),
        Part(name: "program", bytes: Self.programBytes),
      ] + (spanBytes > 0 ? [Part(name: "spans", bytes: spanBytes)] : [])
  }

  /// Of the segments of a lane: those in memory, and those of one that are being written.
  private static func outcomeBytes(_ limits: LaneLimits) -> Int {
    let pushes = SegmentRun.maximumBatches * limits.batchPushes
    return limits.slots * OutcomeReports.maximumBytes(pushes: pushes) * 2
  }

  /// Of one lane.
  package var laneBytes: Int { lane.reduce(0) { $0 + $1.bytes } }

  package var bytes: Int { process.reduce(lanes * laneBytes) { $0 + $1.bytes } }
}

extension MemoryBudget: CustomStringConvertible {
  package var description: String {
    "at most \(Self.megabytes(bytes)): \(lanes) \(lanes == 1 ? "lane" : "lanes") of "
      + "\(Self.megabytes(laneBytes)) (\(Self.list(lane))), \(Self.list(process))"
  }

  private static func list(_ parts: [Part]) -> String {
    parts.map { "\($0.name) \(megabytes($0.bytes))" }.joined(separator: ", ")
  }

  /// Rounded up.
  private static func megabytes(_ bytes: Int) -> String { "\((bytes + 999_999) / 1_000_000) MB" }
}
