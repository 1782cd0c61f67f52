import Ingest
import Kafka
import Terminal

/// Reads and validates events with the worker's own decoder.
package struct EventReader {
  private let options: IngestOptions
  /// Ms since 1970.
  private let now: Int64

  package init(options: IngestOptions, now: Int64) {
    self.options = options
    self.now = now
  }

  /// All of them are held until all are valid.
  private static let maximumFileBytes = 64 << 20
  /// A file with one mistake in every line is told in a screenful.
  private static let maximumComplaints = 20

  package func read(flags document: [UInt8]) throws(CommandFailure) -> ReadEvent {
    switch validate(document) {
    case .success(let event): return event
    case .failure(let error): throw CommandFailure(.usage, "this is no event: \(error.reason)")
    }
  }

  /// One document over any number of lines, or one document a line.
  package func read(file path: String) throws(CommandFailure) -> [ReadEvent] {
    var lines: [(number: Int, bytes: [UInt8])] = []
    var complaints: [String] = []
    var reader = try LineReader.opened(path, maximumLineBytes: options.maximumEventBytes)
    var size = 0
    while let line = try reader.nextLine() {
      switch line {
      case .text(let bytes):
        size += bytes.count + 1
        guard size <= Self.maximumFileBytes else {
          throw CommandFailure(
            .failed, "\(path) has more than \(Self.maximumFileBytes >> 20) MiB: send it in parts")
        }
        lines.append((reader.number, bytes))
      case .tooLong:
        complaints.append("\(path):\(reader.number): longer than an event may be")
      }
    }
    // A document over several lines begins one of them; of documents in lines each begins one.
    if lines.count(where: { $0.bytes.first == UInt8(ascii: "{") }) == 1, complaints.isEmpty {
      switch validate(Array(lines.map(\.bytes).joined(separator: [0x0A]))) {
      case .success(let event): return [event]
      case .failure(let error):
        throw CommandFailure(.failed, "nothing was sent: \(path): \(error.reason)")
      }
    }
    lines.removeAll { line in line.bytes.allSatisfy { $0 <= 0x20 } }
    guard !lines.isEmpty || !complaints.isEmpty else {
      throw CommandFailure(.failed, "\(path) holds no event")
    }
    return try validated(lines, path, complaints)
  }

  private func validated(
    _ lines: [(number: Int, bytes: [UInt8])], _ path: String, _ found: [String]
  ) throws(CommandFailure) -> [ReadEvent] {
    var complaints = found
    var events: [ReadEvent] = []
    for line in lines {
      switch validate(line.bytes) {
      case .success(let event): events.append(event)
      case .failure(let error): complaints.append("\(path):\(line.number): \(error.reason)")
      }
    }
    guard !complaints.isEmpty else { return events }
    let count = complaints.count
    var shown = Array(complaints.prefix(Self.maximumComplaints))
    if count > shown.count { shown.append("… and \(count - shown.count) more") }
    throw CommandFailure(
      .failed, "nothing was sent: \(count) of \(lines.count + found.count) events are wrong",
      findings: shown)
  }

  private func validate(_ document: [UInt8]) -> Result<ReadEvent, IngestError> {
    let message = KafkaMessage(
      topic: options.eventsTopic, partition: 0, offset: 0, key: nil, value: document,
      timestamp: 0, headers: [])
    switch IngestStage(options: options).decode(message, now: now) {
    case .event(let event): return .success(ReadEvent(event))
    case .ended(let end): return .success(ReadEvent(end, document: document))
    case .segment, .plan:
      return .failure(IngestError(.badSegment, "this is a segment, not an event"))
    case .early(_, let error), .malformed(let error): return .failure(error)
    }
  }
}
