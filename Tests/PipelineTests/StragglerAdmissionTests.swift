import Ingest
import Model
import Testing

@testable import Pipeline

/// Which lists of stragglers are worked on: each state of a route, and what is under way already.
@Suite struct StragglerAdmissionTests {
  private typealias Decision = StragglerAdmission.Decision
  private typealias RouteState = StragglerAdmission.RouteState

  private static let route = PushRoute(destination: .production, topic: "a.b")
  private static let other = PushRoute(destination: .production, topic: "c.d")
  private static let now: Int64 = 1_000_000
  private static let open = RouteState()
  private static let closed = RouteState(isClosed: true)
  private static let held = RouteState(isClosed: true, isHeld: true)
  private static let slow = RouteState(isSlow: true)
  private static let outlier = RouteState(isOutlier: true)

  private func label(
    _ route: PushRoute? = Self.route, isRefused: Bool = false, askAgainAt: Int64? = nil
  ) -> StragglerLabel {
    var label = StragglerLabel(
      route: route, notBefore: nil, writtenAt: nil, expiresAt: Self.now + 60_000)
    label.isRefused = isRefused
    label.askAgainAt = askAgainAt
    return label
  }

  private func admit(
    _ admission: inout StragglerAdmission, _ label: StragglerLabel, _ state: RouteState,
    bytes: Int = 1_000, left: Duration? = .seconds(60)
  ) -> Decision {
    admission.admit(label, bytes: bytes, left: left, now: Self.now, route: state)
  }

  private func probe(_ route: PushRoute = Self.route, isRefused: Bool = false) -> Decision {
    .probe(.init(route: route, isRefused: isRefused))
  }

  @Test func whatAnOpenRouteTakesIsWorkedOn() {
    var admission = StragglerAdmission()
    for _ in 0..<100 {
      #expect(admit(&admission, label(), Self.open) == .work)
      #expect(admit(&admission, label(isRefused: true), Self.open) == .work)
    }
  }

  /// Fewer than of a slow environment: they leave again.
  @Test(arguments: [outlier, RouteState(isSlow: true, isOutlier: true)])
  private func ofEventsThatGetNowhereAFewAreWorkedOn(state: RouteState) {
    var admission = StragglerAdmission()
    let bytes = StragglerAdmission.maximumOutlierBytes / 2
    let decision = Decision.workWithoutSlot(.production, bytes: bytes)
    #expect(admit(&admission, label(), state, bytes: bytes) == decision)
    #expect(admit(&admission, label(), state, bytes: bytes) == decision)
    #expect(admit(&admission, label(), state, bytes: 1) == .deferred)
    // Others are not kept waiting.
    #expect(admit(&admission, label(), Self.open) == .work)
    admission.end(decision)
    #expect(admit(&admission, label(), state, bytes: bytes) == decision)
    #expect(admit(&admission, label(), state, bytes: bytes, left: .seconds(1)) == .work)
    var closed = state
    closed.isClosed = true
    #expect(admit(&admission, label(), closed) == probe())
  }

  @Test func oneAtATimeAsksAClosedRoute() {
    var admission = StragglerAdmission()
    #expect(admit(&admission, label(), Self.closed) == probe())
    #expect(admit(&admission, label(), Self.closed) == .deferred)
    #expect(admit(&admission, label(Self.other), Self.closed) == probe(Self.other))
    // What was deferred changes nothing when it ends.
    admission.end(.deferred)
    admission.end(.work)
    #expect(admit(&admission, label(), Self.closed) == .deferred)
    admission.end(probe())
    #expect(admit(&admission, label(), Self.closed) == probe())
    #expect(admit(&admission, label(), Self.closed) == .deferred)
  }

  @Test func whoWasNotRefusedDoesNotStandBehindThoseThatWere() {
    var admission = StragglerAdmission()
    #expect(admit(&admission, label(isRefused: true), Self.held) == probe(isRefused: true))
    #expect(admit(&admission, label(isRefused: true), Self.held) == .deferred)
    for _ in 0..<StragglerAdmission.maximumAsking {
      #expect(admit(&admission, label(), Self.held) == probe())
    }
    #expect(admit(&admission, label(), Self.held) == .deferred)
    admission.end(probe())
    #expect(admit(&admission, label(isRefused: true), Self.held) == .deferred)
    #expect(admit(&admission, label(), Self.held) == probe())
    // Of a route that is only closed one asks, also beside those that ask for a held one.
    #expect(admit(&admission, label(), Self.closed) == .deferred)
  }

  @Test func aSlowEnvironmentHasAsMuchAsKeepsItBusy() {
    var admission = StragglerAdmission()
    let half = StragglerAdmission.maximumSlowBytes / 2
    let first = admit(&admission, label(), Self.slow, bytes: half)
    #expect(first == .workWithoutSlot(.production, bytes: half))
    let second = admit(&admission, label(Self.other), Self.slow, bytes: half)
    #expect(second == first)
    #expect(admit(&admission, label(), Self.slow, bytes: 1) == .deferred)
    let sandbox = PushRoute(destination: .sandbox, topic: "a.b")
    #expect(
      admit(&admission, label(sandbox), Self.slow, bytes: 1)
        == .workWithoutSlot(.sandbox, bytes: 1))
    admission.end(first)
    #expect(admit(&admission, label(), Self.slow, bytes: half + 1) == .deferred)
    #expect(admit(&admission, label(), Self.slow, bytes: half) == first)
  }

  @Test func oneListIsNeverTooLargeForASlowEnvironment() {
    var admission = StragglerAdmission()
    let bytes = StragglerAdmission.maximumSlowBytes + 1
    let first = admit(&admission, label(), Self.slow, bytes: bytes)
    #expect(first == .workWithoutSlot(.production, bytes: bytes))
    #expect(admit(&admission, label(), Self.slow, bytes: 1) == .deferred)
    admission.end(first)
    #expect(admit(&admission, label(), Self.slow, bytes: bytes) == first)
  }

  /// A closed route is asked, whatever else is known of it.
  @Test func closedIsMoreThanSlow() {
    var admission = StragglerAdmission()
    let both = RouteState(isClosed: true, isSlow: true)
    #expect(admit(&admission, label(), both) == probe())
    #expect(admit(&admission, label(), both) == .deferred)
  }

  @Test(arguments: [
    RouteState(), RouteState(isClosed: true), RouteState(isClosed: true, isHeld: true),
    RouteState(isSlow: true),
  ])
  func isNotAskedBeforeAppleWantsToBe(state: StragglerAdmission.RouteState) {
    var admission = StragglerAdmission()
    #expect(admit(&admission, label(askAgainAt: Self.now + 1), state) == .deferred)
    #expect(admit(&admission, label(askAgainAt: Self.now), state) != .deferred)
  }

  /// What has its last try, or of which nothing is known, is worked on whatever its route is.
  @Test(arguments: [
    RouteState(), RouteState(isClosed: true), RouteState(isClosed: true, isHeld: true),
    RouteState(isSlow: true),
  ])
  func aLastTryIsMade(state: StragglerAdmission.RouteState) {
    var admission = StragglerAdmission()
    let late = label(askAgainAt: Self.now + 60_000)
    for _ in 0..<2 {
      #expect(admit(&admission, late, state, left: .milliseconds(1_500)) == .work)
      #expect(admit(&admission, late, state, left: .milliseconds(-1)) == .work)
      #expect(admit(&admission, late, state, left: nil) == .work)
      #expect(admit(&admission, label(nil), state) == .work)
    }
    #expect(admit(&admission, late, state, left: .milliseconds(1_501)) == .deferred)
  }
}
