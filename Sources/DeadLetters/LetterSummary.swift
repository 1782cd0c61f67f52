import Ingest
import JSON
import Kafka
import Text

/// A dead letter without its body: what lists show of it and filters look at.
package struct LetterSummary: Sendable, Equatable {
  package let id: LetterID
  /// When it was written to the dead letters, in ms since 1970 by Kafka's timestamp.
  package let writtenAt: Int64
  /// The topic of the record that it repeats; empty where no header says so.
  package let topic: String
  /// `topic/partition/offset` of that record; empty where no header says so.
  package let source: String
  package let code: String
  package let reason: String
  /// Ids as the body or the key say them; nil where neither can be read.
  package let event: String?
  package let streamer: String?
  /// Of the body.
  package let bytes: Int
  /// The record was too large for the topic with our headers, so that the letter has no body.
  package let isAbridged: Bool
  /// Names and values of all headers, for searches; cut at `maximumHeaderBytes`.
  let headerText: String

  /// Of one letter: 10,000 summaries are 40 MiB at most.
  static let maximumHeaderBytes = 4_096
  /// Of a reason, which quotes a part of the record.
  private static let maximumReasonBytes = 1_024
  /// A larger body is not parsed for its ids.
  private static let maximumParsedBytes = 256 << 10

  package init(_ letter: KafkaMessage) {
    id = LetterID(partition: letter.partition, offset: letter.offset)
    writtenAt = letter.timestamp
    bytes = letter.valueBytes
    let headers = LetterHeaders(letter)
    source = headers.text("fanfare-source", atMost: 512)
    topic = LetterHeaders.topic(ofSource: source) ?? ""
    code = headers.text("fanfare-error-code", atMost: 64)
    reason = headers.text("fanfare-error-reason", atMost: Self.maximumReasonBytes)
    isAbridged = letter.value == nil && headers.has("fanfare-value-bytes")
    headerText = headers.searchText(atMost: Self.maximumHeaderBytes)
    let ids = Self.ids(letter)
    event = ids.event
    streamer = ids.streamer
  }

  /// Read leniently: of an event that is none, ids are what helps to find its writer.
  private static func ids(_ letter: KafkaMessage) -> (event: String?, streamer: String?) {
    let ofKey = SegmentRecord.event(ofKey: letter.key)
    guard let value = letter.value, value.count <= maximumParsedBytes,
      let record = (try? JSONValue.parse(value))?.object
    else {
      // A segment's key begins with its event, an event's key is its streamer.
      let key = letter.key.flatMap { String(validating: $0.prefix(256), as: UTF8.self) }
      return ofKey == nil ? (nil, key) : (ofKey, nil)
    }
    let event = record["event"]?.object ?? record["data"]?.object
    let inner = event?["streamer"] == nil ? record : event ?? record
    return (
      short(inner["id"]?.string ?? record["id"]?.string ?? ofKey),
      short(inner["streamer"]?.object?["id"]?.string)
    )
  }

  private static func short(_ id: String?) -> String? {
    id.map { String(decoding: $0.utf8.prefix(256), as: UTF8.self) }
  }
}

/// The headers of a dead letter as text. Anybody may write to the topic: nothing is sure of them.
struct LetterHeaders {
  private let headers: [KafkaHeader]

  init(_ letter: KafkaMessage) { headers = letter.headers }

  func has(_ name: String) -> Bool { headers.contains { $0.name.isExactly(name) } }

  /// Invalid UTF-8 is repaired; empty where there is none. The last one is Fanfare's.
  func text(_ name: String, atMost limit: Int) -> String {
    let value = headers.last { $0.name.isExactly(name) }?.value ?? []
    return String(decoding: value.prefix(limit), as: UTF8.self)
  }

  func searchText(atMost limit: Int) -> String {
    var bytes: [UInt8] = []
    for header in headers where bytes.count < limit {
      bytes += header.name.utf8.prefix(limit)
      bytes += [0x3A, 0x20]
      bytes += (header.value ?? []).prefix(limit)
      bytes.append(0x0A)
    }
    return String(decoding: bytes.prefix(limit), as: UTF8.self)
  }

  /// `notify-followers` of `notify-followers/3/17`; names of topics have no slash.
  static func topic(ofSource source: String) -> String? {
    let parts = source.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, Int32(parts[1]) != nil, Int64(parts[2]) != nil
    else { return nil }
    return String(parts[0])
  }
}
