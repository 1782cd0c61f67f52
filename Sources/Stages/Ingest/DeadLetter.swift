import Kafka

/// A record that no try will make better, as it goes to the dead letters: key and value untouched,
/// and headers in plain UTF-8 that any tool shows: why, where from, when, by whom.
package struct DeadLetter: Sendable, Equatable {
  package let key: [UInt8]?
  package let value: [UInt8]?
  package let headers: [KafkaHeader]

  /// The record's own headers are kept in front, as many as `maximumOriginalHeaders`; those of an
  /// earlier dead letter, which somebody sent in again, give way to this one's.
  ///
  /// - Parameter time: when it was given up, RFC 3339.
  package init(_ message: KafkaMessage, error: IngestError, worker: String, time: String) {
    key = message.key
    value = message.value
    let own = [
      KafkaHeader("fanfare-error-code", error.code.rawValue),
      KafkaHeader("fanfare-error-reason", error.reason),
      KafkaHeader("fanfare-source", message.place),
      KafkaHeader("fanfare-failed-at", time),
      KafkaHeader("fanfare-worker", worker),
    ]
    let names = Set(own.map(\.name))
    let original = message.headers.filter { !names.contains($0.name) }
    headers = Array(original.prefix(Self.maximumOriginalHeaders)) + own
  }

  /// The place of the record that this one repeats, when somebody sent a dead letter in again.
  package static func source(of message: KafkaMessage) -> String? {
    let header = message.headers.first { $0.name == "fanfare-source" }
    guard let value = header?.value, value.count <= 512 else { return nil }
    return String(decoding: value, as: UTF8.self)
  }

  /// The same without what made it large, for a broker that refuses it as too large: a record that
  /// was just within the topic's limit is over it with our headers. `fanfare-source` says where the
  /// whole record stands; `fanfare-key-bytes` and `fanfare-value-bytes`, how large it is.
  package func abridged() -> DeadLetter {
    let own = headers.filter { $0.name.hasPrefix("fanfare-") && ($0.value?.count ?? 0) <= 1024 }
    let sizes = [
      KafkaHeader("fanfare-key-bytes", "\(key?.count ?? 0)"),
      KafkaHeader("fanfare-value-bytes", "\(value?.count ?? 0)"),
    ]
    return DeadLetter(key: nil, value: nil, headers: own + sizes)
  }

  private init(key: [UInt8]?, value: [UInt8]?, headers: [KafkaHeader]) {
    self.key = key
    self.value = value
    self.headers = headers
  }

  /// A record with 1,000 headers must not become one that the broker refuses.
  static let maximumOriginalHeaders = 64
}

extension KafkaMessage {
  /// `topic/partition/offset`: what names a record in Redis, in headers and in logs.
  package var place: String { "\(topic)/\(partition)/\(offset)" }
}
