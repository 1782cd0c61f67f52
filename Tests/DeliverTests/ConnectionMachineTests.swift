import Testing

@testable import Deliver

@Suite struct ConnectionMachineTests {
  typealias Phase = ConnectionMachine.Phase
  typealias Event = ConnectionMachine.Event
  typealias Action = ConnectionMachine.Action

  /// The whole table; a pair that is not named here does nothing.
  static let moves: [(Phase, Event, Phase, Action)] = [
    (.connecting, .opened, .greeting, .none),
    (.connecting, .lost, .closed, .closeAndReplace),
    (.connecting, .silent, .closed, .closeAndReplace),
    (.connecting, .stop, .closed, .close),
    (.greeting, .settings, .open, .becomeReady),
    (.greeting, .goAway, .draining, .replace),
    (.greeting, .retire, .draining, .replace),
    (.greeting, .lost, .closed, .closeAndReplace),
    (.greeting, .silent, .closed, .closeAndReplace),
    (.greeting, .stop, .closed, .close),
    (.open, .goAway, .draining, .replace),
    (.open, .retire, .draining, .replace),
    (.open, .lost, .closed, .closeAndReplace),
    (.open, .silent, .closed, .closeAndReplace),
    (.open, .stop, .closed, .close),
    (.draining, .drained, .closed, .close),
    (.draining, .lost, .closed, .close),
    (.draining, .silent, .closed, .close),
    (.draining, .stop, .closed, .close),
  ]

  @Test(arguments: Phase.allCases, Event.allCases)
  func followsTheTable(phase: Phase, event: Event) {
    var machine = Self.machine(in: phase)
    #expect(machine.phase == phase)
    let action = machine.handle(event)
    if let move = Self.moves.first(where: { $0.0 == phase && $0.1 == event }) {
      #expect(machine.phase == move.2)
      #expect(action == move.3)
    } else {
      #expect(machine.phase == phase)
      #expect(action == .none)
    }
  }

  private static func machine(in phase: Phase) -> ConnectionMachine {
    var machine = ConnectionMachine()
    let way: [Event] =
      switch phase {
      case .connecting: []
      case .greeting: [.opened]
      case .open: [.opened, .settings]
      case .draining: [.opened, .settings, .goAway]
      case .closed: [.stop]
      }
    for event in way { _ = machine.handle(event) }
    return machine
  }
}
