import Threads

/// Why a push was rejected: one of a platform's reasons, or one of ours. An index, so that an
/// outcome takes one byte and tallies are arrays; it is no contract: Redis and logs hold `name`.
package struct RejectionReason: Sendable, Hashable {
  package let index: UInt8
  /// There are never more: tallies have so many counters.
  package static let maximum = 64

  // MARK: ours

  /// An answer whose status or reason is not in its platform's table.
  package static let other = RejectionReason(index: 0)
  /// The payload could not be fitted into the platform's limit; the push was not sent.
  package static let unrenderable = RejectionReason(index: 1)
  /// No connection is configured for the binding's destination; the push was not sent.
  package static let noRoute = RejectionReason(index: 2)
  /// Sent, perhaps more than once, and never answered. It may have reached the device, so it is
  /// neither `accepted` nor `expired`.
  package static let unanswered = RejectionReason(index: 3)
  /// It had to wait for another try, and Kafka took no record with it, however small.
  package static let unwritable = RejectionReason(index: 4)
  /// Sent, and answered by something that is not the platform, however often.
  package static let proxyAnswered = RejectionReason(index: 5)

  private static let ourNames = [
    "Other", "Unrenderable", "NoRoute", "Unanswered", "Unwritable", "ProxyAnswered",
  ]

  // MARK: all

  private struct Row {
    /// nil: ours.
    let platform: String?
    let name: String
  }

  /// Read without a lock.
  private static let shipped =
    ourNames.map { Row(platform: nil, name: $0) } + Platform.shipped.flatMap { rows(of: $0) }
  private static let added = ThreadLock<[Row]>([])

  private static func rows(of platform: Platform) -> [Row] {
    platform.reasons.map { Row(platform: platform.name, name: $0) }
  }

  /// Called once for each platform that does not ship, before anything is sent.
  static func add(_ platform: Platform) {
    added.withLock { added in
      added += rows(of: platform)
      precondition(shipped.count + added.count <= maximum, "there are more reasons than counters")
    }
  }

  package static var all: [RejectionReason] {
    let count = shipped.count + added.withLock { $0.count }
    return (0..<count).map { RejectionReason(index: UInt8($0)) }
  }

  package static let ours = ourNames.indices.map { RejectionReason(index: UInt8($0)) }

  /// In the order of `Platform.reasons`.
  package static func all(of platform: Platform) -> [RejectionReason] {
    all.filter { $0.row.platform == platform.name }
  }

  private var row: Row {
    let index = Int(index)
    guard index >= Self.shipped.count else { return Self.shipped[index] }
    return Self.added.withLock { $0[index - Self.shipped.count] }
  }

  /// As its platform spells it; ours are made like Apple's.
  package var name: String { row.name }
  /// `Platform.name` of its platform; nil: ours.
  package var platform: String? { row.platform }

  private init(index: UInt8) { self.index = index }

  /// `.other` for a name that the platform does not document, our own names too.
  package init(named name: String, of platform: Platform) {
    self =
      Self.all(of: platform).first { $0.name.utf8.elementsEqual(name.utf8) } ?? .other
  }
}

extension RejectionReason: CustomStringConvertible {
  package var description: String { name }
}
