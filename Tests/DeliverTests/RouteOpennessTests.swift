import Testing

@testable import Deliver

/// What keeps everything from being sent on a route, by what has happened and what is known.
@Suite struct RouteOpennessTests {
  private static let closedAfter: UInt64 = 1000
  private static let stalledAfter: UInt64 = 3000
  private static let silentAfter: UInt64 = 9000
  private static let quietAfter: UInt64 = 60_000_000_000

  enum Event {
    case unconnected(UInt64)
    case connected(UInt64)
    case refusedToConnect
    case noToken(UInt64)
    case token
    /// It was looked at, with these facts.
    case look(RouteOpenness.Facts, UInt64)
  }

  private static func facts(
    open: Int = 2, takes: Bool = true, waits: Bool = true, has: Bool = true, movedAt: UInt64 = 0,
    sentAt: UInt64 = 0, answeredAt: UInt64 = 0, unanswered: Int = 0, since: UInt64 = 0
  ) -> RouteOpenness.Facts {
    RouteOpenness.Facts(
      openConnections: open, takes: takes, hasSendablePushes: waits, hasPushes: has,
      lastMovedAt: movedAt, lastSentAt: sentAt, lastAnsweredAt: answeredAt,
      unanswered: (unanswered, since))
  }

  private static let none = facts(open: 0, takes: false)
  private static let full = facts(takes: false)

  private func closure(
    _ events: [Event], _ facts: RouteOpenness.Facts, at now: UInt64
  ) -> RouteObstacle.Kind? {
    let openness = RouteOpenness(
      closedAfter: Self.closedAfter, stalledAfter: Self.stalledAfter,
      silentAfter: Self.silentAfter)
    for event in events {
      switch event {
      case .unconnected(let now): _ = openness.set(isUnconnected: true, at: now)
      case .connected(let now):
        openness.cannotConnect = false
        _ = openness.set(isUnconnected: false, at: now)
      case .refusedToConnect: openness.cannotConnect = true
      case .noToken(let time): openness.lack = (.noToken, "no key", time)
      case .token: openness.lack = nil
      case .look(let facts, let now): _ = openness.closure(facts, at: now)
      }
    }
    return openness.closure(facts, at: now)
  }

  private static let connecting: [([Event], UInt64, RouteObstacle.Kind?)] = [
    ([], 0, nil),
    ([.unconnected(10)], 10, nil),
    ([.unconnected(10)], 1009, nil),
    ([.unconnected(10)], 1010, .unreachable),
    // Said twice, the first time counts.
    ([.unconnected(10), .unconnected(900)], 1010, .unreachable),
    ([.unconnected(10), .connected(900)], 5000, nil),
    ([.unconnected(10), .connected(900), .unconnected(1000)], 1500, nil),
    // A server that says no is not waited for, until it says yes.
    ([.unconnected(10), .refusedToConnect], 11, .unreachable),
    ([.refusedToConnect], 11, nil),
    ([.unconnected(10), .refusedToConnect, .connected(20), .unconnected(30)], 31, nil),
    // Without a token connections do not matter, and it is told as that.
    ([.noToken(50)], 0, .noToken),
    ([.unconnected(10), .noToken(50)], 2000, .noToken),
    // It stays closed until a token was made.
    ([.noToken(50)], 60, .noToken),
    ([.noToken(50), .token], 60, nil),
    ([.unconnected(10), .noToken(50), .token], 2000, .unreachable),
  ]

  @Test(arguments: connecting.indices)
  func isClosedWithoutConnectionsOrToken(_ row: Int) {
    let (events, now, expected) = Self.connecting[row]
    #expect(closure(events, Self.none, at: now) == expected)
  }

  private static let stalling: [([Event], RouteOpenness.Facts, UInt64, RouteObstacle.Kind?)] = [
    ([], full, 2999, nil),
    ([], full, 3000, .unreachable),
    ([], facts(takes: true), 3000, nil),
    ([], facts(takes: false, waits: false), 3000, nil),
    ([], facts(open: 0, takes: false), 3000, nil),
    ([], facts(takes: false, movedAt: 100), 3000, nil),
    // It stays so, also when nothing waits any more, until something is answered.
    ([.look(full, 3000)], full, 3001, .unreachable),
    ([.look(full, 3000)], facts(takes: false, waits: false), 3001, .unreachable),
    ([.look(full, 3000)], facts(takes: false, movedAt: 3000), 3001, .unreachable),
    ([.look(full, 3000)], facts(takes: false, movedAt: 3001, answeredAt: 3001), 3002, nil),
    // What is sent on a connection in the place of a silent one is no answer.
    ([.look(full, 3000)], facts(movedAt: 3001, sentAt: 3001), 3002, .unreachable),
    ([.look(full, 3000)], facts(takes: true), 3001, .unreachable),
    ([.look(full, 3000)], none, 3001, .unreachable),
    ([.look(full, 3000)], facts(answeredAt: 3000), 3001, .unreachable),
    // Nobody has sent anything for a minute, and nobody waits: nobody knows.
    ([.look(full, 3000)], facts(waits: false, sentAt: 5), quietAfter + 5, nil),
    ([.look(full, 3000)], facts(waits: false, sentAt: 6), quietAfter + 5, .unreachable),
    ([.look(full, 3000)], facts(waits: true, sentAt: 5), quietAfter + 5, .unreachable),
    ([.look(full, 3000)], facts(open: 0, takes: false, waits: false), quietAfter, nil),
    ([.look(full, 3000)], facts(takes: false, waits: false), quietAfter, .unreachable),
    // Connections take what is sent and answer nothing of it.
    ([], facts(sentAt: 9000, unanswered: 10), 9000, .unreachable),
    ([], facts(sentAt: 8999, unanswered: 10), 8999, nil),
    ([], facts(sentAt: 9000, unanswered: 10, since: 1), 9000, nil),
    ([], facts(sentAt: 9000, unanswered: 9), 9000, nil),
    ([], facts(sentAt: 0, unanswered: 10), quietAfter, nil),
    // All of them were lost with a connection, and their event has ended.
    ([], facts(has: false, sentAt: 9000, unanswered: 10), 9000, nil),
    (
      [.look(facts(sentAt: 9000, unanswered: 10), 9000)],
      facts(sentAt: 9100, answeredAt: 9101), 9102, nil
    ),
    // A token that cannot be made is told first.
    ([.look(full, 3000), .noToken(9000)], full, 3001, .noToken),
  ]

  @Test(arguments: stalling.indices)
  func connectionsThatTakeNothingAreAsGoodAsNone(_ row: Int) {
    let (events, facts, now, expected) = Self.stalling[row]
    #expect(closure(events, facts, at: now) == expected)
  }

  @Test func saysWhyInWords() {
    let openness = RouteOpenness(
      closedAfter: Self.closedAfter, stalledAfter: Self.stalledAfter,
      silentAfter: Self.silentAfter)
    #expect(openness.reason == "connecting")
    openness.failed("no route to host")
    #expect(openness.reason == "no route to host")
    _ = openness.closure(Self.full, at: 3000)
    #expect(openness.reason == "connected, but it takes no pushes")
    let other = RouteOpenness(
      closedAfter: Self.closedAfter, stalledAfter: Self.stalledAfter,
      silentAfter: Self.silentAfter)
    _ = other.closure(Self.facts(sentAt: 9000, unanswered: 10), at: 9000)
    #expect(other.reason == "connected, but it answers nothing")
    other.lack = (.noToken, "no key", 9000)
    other.failed("no route to host")
    #expect(other.reason == "no key")
    other.lack = nil
    #expect(other.reason == "no route to host")
  }

  @Test func saysWhetherConnectionsAreNewOrGone() {
    let openness = RouteOpenness(
      closedAfter: Self.closedAfter, stalledAfter: Self.stalledAfter,
      silentAfter: Self.silentAfter)
    #expect(!openness.set(isUnconnected: false, at: 1))
    #expect(openness.set(isUnconnected: true, at: 2))
    #expect(!openness.set(isUnconnected: true, at: 3))
    #expect(openness.set(isUnconnected: false, at: 4))
  }
}
