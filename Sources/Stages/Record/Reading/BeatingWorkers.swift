import Keyspace
import Text

/// The content of a worker's last heartbeat.
package struct WorkerBeat: Sendable, Equatable {
  package let id: String
  /// The fields of `ff:worker:<id>`, by our names.
  package let fields: [String: String]

  package init(id: String, fields: [String: String]) {
    self.id = id
    self.fields = fields
  }

  /// The shortest silence that counts: a busy Redis delays single beats.
  private static let shortestSilence: Int64 = 5_000
  /// Of versions that do not say how often they beat.
  private static let unknownInterval: Int64 = 10_000

  /// How long a worker may be silent before it counts as dead: three of its beats, and 5 s at
  /// least; in ms, 60,000 at most.
  /// - Parameter fields: those of its last heartbeat, or none.
  package static func longestSilence(_ fields: [String: String]) -> Int64 {
    let stored = fields["beat_interval_ms"].flatMap { StoredNumber.read($0) }
    // Redis forgets the fields after that time, whatever they say.
    let longest = Int64(Keyspace.workerLifetimeSeconds) * 1000
    return min(max(3 * (stored ?? unknownInterval), shortestSilence), longest)
  }
}

extension RecordStage {
  /// The workers on the list `ff:workers` whose heartbeats have not expired, who beat last first,
  /// and how many are on the list.
  package func beatingWorkers(
    atMost limit: Int
  ) async throws(RecordError) -> (workers: [WorkerBeat], all: Int) {
    let reply = try await execute(["HGETALL", keyspace.workers])
    let beats = (0..<reply.count / 2).compactMap { index in
      reply[2 * index].text.map { (id: $0, at: reply[2 * index + 1].decimal ?? 0) }
    }
    let ids = beats.filter { Keyspace.isIdentifier($0.id) }
      .sorted { ($1.at, $0.id) < ($0.at, $1.id) }.prefix(limit).map(\.id)
    guard !ids.isEmpty else { return ([], beats.count) }
    let replies = try await checkedReplies(to: ids.map { ["HGETALL", keyspace.worker(id: $0)] })
    return (
      ids.indices.map { WorkerBeat(id: ids[$0], fields: replies[$0].dictionary ?? [:]) }
        .filter { !$0.fields.isEmpty },
      beats.count
    )
  }
}
