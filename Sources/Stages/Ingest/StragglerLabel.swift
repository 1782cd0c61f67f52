import Kafka
import Model
import Text

/// The headers of a straggler record, read without decoding it. Each is nil when it is missing or
/// not ours, as in the records of older workers.
package struct StragglerLabel: Sendable, Equatable {
  /// Of all pushes of the list.
  package var route: PushRoute?
  /// Apple has refused our credentials for each of the pushes before.
  package var isRefused = false
  /// When the pushes are due, in ms since 1970.
  package var notBefore: Int64?
  /// Apple asked not to be asked about them before, in ms since 1970.
  package var askAgainAt: Int64?
  /// When the list was written first, in ms since 1970, and later by as long as it was due and
  /// nobody read it: what is between this and `notBefore` is its age.
  package var writtenAt: Int64?
  /// When the event expires, in ms since 1970.
  package var expiresAt: Int64?
  /// Of the event.
  package var origin = EventOrigin()

  private static let routeHeader = "fanfare-route"
  private static let refusedHeader = "fanfare-refused"
  private static let notBeforeHeader = "fanfare-not-before"
  private static let askAgainHeader = "fanfare-ask-again"
  private static let writtenHeader = "fanfare-written"
  private static let expiresHeader = "fanfare-expires"

  package init(route: PushRoute?, notBefore: Int64?, writtenAt: Int64?, expiresAt: Int64?) {
    self.route = route
    self.notBefore = notBefore
    self.writtenAt = writtenAt
    self.expiresAt = expiresAt
  }

  package init(_ message: KafkaMessage) {
    origin = EventOrigin(ofSegment: message.headers)
    for header in message.headers {
      guard let value = header.value else { continue }
      switch header.name {
      case Self.routeHeader: route = Self.route(value)
      case Self.refusedHeader: isRefused = value == Array("1".utf8)
      case Self.notBeforeHeader: notBefore = Self.time(value)
      case Self.askAgainHeader: askAgainAt = Self.time(value)
      case Self.writtenHeader: writtenAt = Self.time(value)
      case Self.expiresHeader: expiresAt = Self.time(value)
      default: break
      }
    }
  }

  package var headers: [KafkaHeader] {
    let times = [
      (Self.notBeforeHeader, notBefore), (Self.writtenHeader, writtenAt),
      (Self.expiresHeader, expiresAt), (Self.askAgainHeader, askAgainAt),
    ]
    return times.compactMap { name, time in time.map { KafkaHeader(name, String($0)) } }
      + (isRefused ? [KafkaHeader(Self.refusedHeader, "1")] : [])
      + (route.map { [KafkaHeader(Self.routeHeader, "\($0.destination.name) \($0.topic)")] } ?? [])
      + origin.headers
  }

  /// Nil for what is no time between 1970 and the year 9999, as for what is no number: anybody may
  /// write to a topic, and who reads a label calculates with it.
  static func time(_ value: [UInt8]) -> Int64? {
    guard value.count <= 20, let time = Int64(String(decoding: value, as: UTF8.self)),
      Timestamp.range.contains(time)
    else { return nil }
    return time
  }

  /// Nil for a topic that no device has: lanes keep what is known of each route.
  private static func route(_ value: [UInt8]) -> PushRoute? {
    for destination in Destination.all {
      let start = destination.name + " "
      guard value.starts(with: start.utf8) else { continue }
      let rest = value.dropFirst(start.utf8.count).prefix(Binding.maximumTopicBytes + 1)
      let topic = String(decoding: rest, as: UTF8.self)
      return Binding.isTopic(topic) ? PushRoute(destination: destination, topic: topic) : nil
    }
    return nil
  }
}
