/// The notifications that were sent on one connection of the binary interface and have no word yet:
/// a pure machine. The gateway is silent about what it takes. It names the first notification that
/// it refuses, closes, and has thrown away everything after that ("Binary Provider API"). So the
/// sender keeps what was sent, in order, and takes silence for assent after a while.
///
/// ```
/// open ─refused, ended→ closed
///   └─ sent, delivered, silence pass ─┘ (stay open)
/// ```
package struct SentWindow<Item> {
  package enum Phase: Sendable, Equatable, CaseIterable { case open, closed }

  /// The outcome of all that was sent, after an error response.
  package struct Verdict {
    /// Before the one that is named: the gateway took them.
    package var accepted: [Item] = []
    /// The one that is named, unless it was the last that was taken.
    package var refused: Item?
    /// After it: not looked at. In the order in which they were sent.
    package var again: [Item] = []
    /// The response names nothing that was ever sent: nobody knows.
    package var unknown: [Item] = []
    /// Taken for accepted before the word came that it was not: the one that is named, unless it
    /// was the last that was taken, and those sent after it. These are lost. Silence was taken for
    /// assent too soon.
    package var late = 0
    /// The response names one that was sent.
    package var isKnown = false
  }

  private struct Entry {
    let item: Item
    /// When the peer's host was known to have it, in monotonic nanoseconds.
    var deliveredAt: UInt64?
  }

  package let capacity: Int
  /// Nanoseconds of silence after which what was delivered is taken for accepted.
  package let acceptedAfter: UInt64
  package private(set) var phase = Phase.open
  private var entries: [Entry] = []
  /// Of the first entry. 0 is not used: gateways say it when they have no identifier.
  private var first: UInt32
  private var delivered = 0

  package init(capacity: Int, acceptedAfter: UInt64, firstIdentifier: UInt32 = 1) {
    first = firstIdentifier
    self.capacity = capacity
    self.acceptedAfter = acceptedAfter
  }

  package var count: Int { entries.count }
  package var hasUndelivered: Bool { delivered < entries.count }

  /// How many more may be sent.
  package var room: Int {
    phase == .open ? max(0, min(capacity - entries.count, Int(UInt32.max - next))) : 0
  }

  /// No identifier is left: another connection begins with the first.
  package var isUsedUp: Bool { next == .max }

  /// The identifier of the next one to be sent.
  package var next: UInt32 { first + UInt32(entries.count) }

  /// One is sent, with the identifier `next`. Only while there is room.
  package mutating func sent(_ item: Item) {
    guard room > 0 else { return }
    entries.append(Entry(item: item))
  }

  /// The peer's host has all that was sent before this identifier: from now on silence says
  /// something of them.
  package mutating func delivered(before identifier: UInt32, at now: UInt64) {
    guard phase == .open, identifier > first else { return }
    let end = min(entries.count, Int(identifier - first))
    guard end > delivered else { return }
    for index in delivered..<end { entries[index].deliveredAt = now }
    delivered = end
  }

  /// Takes out what was delivered so long ago that silence means that it was taken.
  package mutating func silence(at now: UInt64) -> [Item] {
    guard phase == .open else { return [] }
    let end =
      entries.firstIndex {
        $0.deliveredAt.map { now < $0 || now - $0 < acceptedAfter } ?? true
      } ?? entries.count
    return take(end)
  }

  /// The gateway has said its only word.
  package mutating func refused(_ identifier: UInt32, _ status: LegacyStatus) -> Verdict {
    var verdict = Verdict()
    guard phase == .open else { return verdict }
    phase = .closed
    guard identifier > 0, identifier < next else {
      verdict.unknown = take(entries.count)
      return verdict
    }
    verdict.isKnown = true
    if identifier < first {
      verdict.late = Int(first - identifier) - (status.meaning == .lastTaken ? 1 : 0)
    } else {
      verdict.accepted = take(Int(identifier - first))
      let named = take(1)
      if status.meaning == .lastTaken {
        verdict.accepted += named
      } else {
        verdict.refused = named.first
      }
    }
    verdict.again = take(entries.count)
    return verdict
  }

  /// The connection ended without a word: what of these was taken nobody knows.
  package mutating func ended() -> [Item] {
    guard phase == .open else { return [] }
    phase = .closed
    return take(entries.count)
  }

  private mutating func take(_ count: Int) -> [Item] {
    let taken = entries.prefix(count).map(\.item)
    entries.removeFirst(count)
    first += UInt32(count)
    delivered = max(0, delivered - count)
    return taken
  }
}
