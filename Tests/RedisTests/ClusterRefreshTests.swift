import Testing

@testable import Redis

@Suite struct ClusterRefreshTests {
  typealias Refresh = ClusterRefresh

  static let events: [Refresh.Event] = [
    .start, .wanted, .answered(isSettled: true), .answered(isSettled: false), .failed, .timerFired,
    .close,
  ]
  static let states: [Refresh.State] = [.idle, .asking, .resting, .waiting, .closed]

  func refresh(in state: Refresh.State) -> Refresh {
    var refresh = Refresh(
      minimum: .milliseconds(100), maximum: .milliseconds(350), interval: .seconds(30))
    let way: [Refresh.Event] =
      switch state {
      case .idle: []
      case .asking: [.start]
      case .resting: [.start, .answered(isSettled: true)]
      case .waiting: [.start, .answered(isSettled: true), .timerFired]
      case .closed: [.close]
      }
    for event in way { _ = refresh.handle(event) }
    #expect(refresh.state == state)
    return refresh
  }

  /// What each state makes of each event; whatever is not named here changes nothing.
  func expected(
    _ state: Refresh.State, _ event: Refresh.Event
  ) -> (next: Refresh.State, actions: [Refresh.Action]) {
    switch (state, event) {
    case (.closed, _): (.closed, [])
    case (_, .close): (.closed, [.cancelTimer])
    case (.idle, .start), (.waiting, .wanted), (.waiting, .timerFired):
      (.asking, [.cancelTimer, .ask])
    case (.asking, .answered), (.asking, .failed):
      (.resting, [.startTimer(.milliseconds(100))])
    case (.resting, .timerFired): (.waiting, [.startTimer(.seconds(30))])
    default: (state, [])
    }
  }

  @Test(arguments: states, events)
  func everyStateAndEvent(state: Refresh.State, event: Refresh.Event) {
    var refresh = refresh(in: state)
    let (next, actions) = expected(state, event)
    #expect(refresh.handle(event) == actions)
    #expect(refresh.state == next)
  }

  /// However many want it, they get one more question, after the pause.
  @Test(arguments: [Refresh.State.asking, .resting])
  func wishesAreOne(state: Refresh.State) {
    var refresh = refresh(in: state)
    for _ in 0..<3 { #expect(refresh.handle(.wanted) == []) }
    if state == .asking {
      #expect(refresh.handle(.answered(isSettled: true)) == [.startTimer(.milliseconds(100))])
    }
    #expect(refresh.handle(.timerFired) == [.cancelTimer, .ask])
    _ = refresh.handle(.answered(isSettled: true))
    #expect(refresh.handle(.timerFired) == [.startTimer(.seconds(30))])
  }

  /// A replica takes over some seconds after its master is gone.
  @Test func whatIsNotSettledIsAskedForAgain() {
    var refresh = refresh(in: .asking)
    for pause in [100, 200, 350, 350] {
      #expect(refresh.handle(.answered(isSettled: false)) == [.startTimer(.milliseconds(pause))])
      #expect(refresh.handle(.timerFired) == [.cancelTimer, .ask])
    }
    #expect(refresh.handle(.answered(isSettled: true)) == [.startTimer(.milliseconds(100))])
    #expect(refresh.handle(.timerFired) == [.startTimer(.seconds(30))])
  }
}
