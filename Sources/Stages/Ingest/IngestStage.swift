import JSON
import Kafka
import Model
import Text

/// The entrance: gate the size → parse strictly → validate every field. Pure; a record that is
/// wrong gets a code and a reason, never a trap, and disturbs nothing else.
package struct IngestStage: Sendable {
  private let options: IngestOptions

  /// Far beyond what an event needs: extensions of CloudEvents, which nobody looks at, are theirs
  /// to shape. Reading them is recursive, some 200 bytes of stack a level.
  static let maximumDepth = 512

  package init(options: IngestOptions) { self.options = options }

  /// - Parameter now: ms since 1970.
  package func decode(_ message: KafkaMessage, now: Int64) -> IngestResult {
    do {
      if [options.segmentsTopic, options.bulkTopic, options.stragglersTopic]
        .contains(message.topic)
      {
        return try decodeSegment(message)
      }
      return try decodeEvent(message, now: now)
    } catch {
      return .malformed(error)
    }
  }

  private func decodeEvent(
    _ message: KafkaMessage, now: Int64
  ) throws(IngestError) -> IngestResult {
    let record: (document: [UInt8], value: JSONValue)
    do throws(IngestError) {
      record = try parse(message, limit: options.maximumEventBytes)
    } catch {
      guard error.code == .notJSON else { throw error }
      throw error.with(
        hint: ForeignFormat.hint(message.value ?? [])
          ?? ForeignEnvelope.hint(headers: message.headers))
    }
    do throws(IngestError) {
      return try decode(record.document, record.value, of: message, now: now)
    } catch {
      guard error.code != .keyMismatch else { throw error }
      throw error.with(hint: ForeignEnvelope.hint(record.value, headers: message.headers))
    }
  }

  private func decode(
    _ document: [UInt8], _ value: JSONValue, of message: KafkaMessage, now: Int64
  ) throws(IngestError) -> IngestResult {
    let (document, value) = try CloudEvent.unwrap(
      value, document: document, headers: message.headers)
    let decoder = EventDecoder(options: options)
    if let end = try decoder.decodeEnd(value) {
      try checkKey(message, end.streamer)
      return .ended(end)
    }
    let event = try decoder.decode(value, document: document)
    try checkKey(message, event.streamer)
    guard isEarly(event, at: now) else { return .event(event) }
    return .early(event, Self.early(event, now: now))
  }

  /// An event of which `document` was kept.
  package func event(document: [UInt8]) throws(IngestError) -> Event {
    let value: JSONValue
    do {
      value = try JSONValue.parse(
        document, maximumBytes: options.maximumEventBytes, maximumDepth: Self.maximumDepth)
    } catch {
      throw IngestError(.notJSON, "\(error)")
    }
    return try EventDecoder(options: options).decode(value, document: document)
  }

  /// Whether the event says that it happened later than the live backend's clock may be ahead.
  ///
  /// - Parameter now: ms since 1970 by the clock that is believed.
  package func isEarly(_ event: Event, at now: Int64) -> Bool {
    event.occurredAt > now + options.clockSkew.wholeMilliseconds
  }

  private func decodeSegment(_ message: KafkaMessage) throws(IngestError) -> IngestResult {
    var limit = options.maximumEventBytes + IngestOptions.segmentOverheadBytes
    if message.topic == options.stragglersTopic { limit += IngestOptions.stragglerBytes }
    let (_, value) = try parse(message, limit: limit)
    return try SegmentRecord.decode(value, events: EventDecoder(options: options))
  }

  private func parse(
    _ message: KafkaMessage, limit: Int
  ) throws(IngestError) -> (document: [UInt8], value: JSONValue) {
    guard let document = message.value else {
      throw IngestError(.tombstone, "the record has no value")
    }
    guard document.count <= limit else {
      throw IngestError(.tooLarge, "the record has \(document.count) bytes, \(limit) are allowed")
    }
    do {
      let value = try JSONValue.parse(
        document, maximumBytes: limit, maximumDepth: Self.maximumDepth)
      return (document, value)
    } catch {
      let code: IngestError.Code = error.code == .duplicateKey ? .duplicateKey : .notJSON
      throw IngestError(code, "\(error)")
    }
  }

  private static func early(_ event: Event, now: Int64) -> IngestError {
    IngestError(
      .occurredInFuture,
      "occurred_at is \((event.occurredAt - now) / 1000) s ahead of this worker's clock")
  }

  /// The key decides the partition, and so the order of a streamer's events.
  private func checkKey(_ message: KafkaMessage, _ streamer: String) throws(IngestError) {
    guard let key = message.key, !key.isEmpty else { return }
    guard key.elementsEqual(streamer.utf8) else {
      throw IngestError(.keyMismatch, "the record's key is not streamer.id")
    }
  }
}
