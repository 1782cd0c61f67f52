import Record
import Testing

@testable import Pipeline

/// Every input in every state: what follows, and that nothing else does.
@Suite struct SegmentMachineTests {
  private typealias Machine = SegmentMachine

  private struct Step: Hashable {
    let state: Machine.State
    let input: Machine.Input
  }

  private struct Result: Equatable {
    let state: Machine.State
    let action: Machine.Action
  }

  private static let states: [Machine.State] =
    [.new, .waiting(isClaimed: false), .waiting(isClaimed: true), .bidding, .sending]
    + Machine.Extent.allCases.flatMap {
      [Machine.State.trying($0), .awaitingAnswers($0), .settling($0)]
    } + [.lost, .stopped, .ended]

  private static let bids: [Machine.Bid] = [
    .won, .wonAfterStop, .settled, .orphaned, .unplanned, .paused,
    .claimedElsewhere(milliseconds: 70),
  ]

  private static let inputs: [Machine.Input] =
    [
      .begun(isClaimed: false), .begun(isClaimed: true), .turn(.now), .turn(.later),
      .turn(.deferred), .sent, .tried(mayReleaseSlot: false), .tried(mayReleaseSlot: true),
      .answered, .unanswered, .settled(.whole), .settled(.part), .failed(hasSent: false),
      .failed(hasSent: true), .laneStopped,
    ] + bids.map { .bid($0) } + Renewal.allCases.map { .renewal($0) }

  /// A machine in each state, by inputs.
  private static func machine(in state: Machine.State) -> Machine {
    var machine = Machine()
    let won: [Machine.Input] = [.begun(isClaimed: false), .turn(.now), .bid(.won)]
    let inputs: [Machine.Input] =
      switch state {
      case .new: []
      case .waiting(let isClaimed): [.begun(isClaimed: isClaimed)]
      case .bidding: [.begun(isClaimed: false), .turn(.now)]
      case .sending: won
      case .trying(let extent): won + [end(of: extent)]
      case .awaitingAnswers(let extent): won + [end(of: extent), .tried(mayReleaseSlot: false)]
      case .settling(let extent):
        won + [end(of: extent), .tried(mayReleaseSlot: false), .answered]
      case .lost: won + [.renewal(.another)]
      case .stopped: won + [.laneStopped]
      case .ended: [.begun(isClaimed: false), .turn(.deferred)]
      }
    for input in inputs { _ = machine.take(input) }
    #expect(machine.state == state)
    return machine
  }

  private static func end(of extent: Machine.Extent) -> Machine.Input {
    extent == .whole ? .sent : .failed(hasSent: true)
  }

  /// What changes something.
  private struct Table {
    private(set) var rows: [Step: Result] = [:]

    mutating func when(
      _ state: Machine.State, _ inputs: Machine.Input..., to next: Machine.State,
      _ action: Machine.Action
    ) {
      for input in inputs {
        rows[Step(state: state, input: input)] = Result(state: next, action: action)
      }
    }

    mutating func end(
      _ state: Machine.State, _ inputs: Machine.Input..., as ending: Machine.Ending,
      after cleanup: Machine.Cleanup = .nothing
    ) {
      for input in inputs {
        rows[Step(state: state, input: input)] = Result(
          state: .ended, action: .end(ending, after: cleanup))
      }
    }
  }

  private static var table: [Step: Result] {
    var table = Table()
    addBeforeItIsOurs(to: &table)
    addWhileItIsOurs(to: &table)
    addInterruptions(to: &table)
    return table.rows
  }

  private static func addBeforeItIsOurs(to table: inout Table) {
    for isClaimed in [false, true] {
      let waiting = Machine.State.waiting(isClaimed: isClaimed)
      let cleanup = isClaimed ? Machine.Cleanup.releaseClaim : .nothing
      table.when(.new, .begun(isClaimed: isClaimed), to: waiting, .takeTurn)
      table.when(waiting, .turn(.now), to: .bidding, .bid(again: false))
      table.when(waiting, .turn(.later), to: .bidding, .bid(again: true))
      table.end(waiting, .turn(.deferred), as: .deferPaused, after: cleanup)
      table.end(
        waiting, .failed(hasSent: false), .failed(hasSent: true), as: .failed, after: cleanup)
    }

    table.when(.bidding, .bid(.won), to: .sending, .send)
    table.end(.bidding, .bid(.wonAfterStop), as: .failed, after: .releaseClaim)
    table.end(.bidding, .bid(.settled), .bid(.orphaned), as: .done)
    table.end(.bidding, .bid(.unplanned), as: .deferUnplanned)
    table.end(.bidding, .bid(.paused), as: .deferPaused)
    table.end(
      .bidding, .bid(.claimedElsewhere(milliseconds: 70)), as: .again(milliseconds: 70))
    table.end(.bidding, .failed(hasSent: false), .failed(hasSent: true), as: .failed)
  }

  private static func addWhileItIsOurs(to table: inout Table) {
    table.when(.sending, .sent, to: .trying(.whole), .awaitTries)
    table.when(.sending, .failed(hasSent: true), to: .trying(.part), .awaitTries)
    table.end(.sending, .failed(hasSent: false), as: .failed, after: .giveUp)
    table.end(.settling(.whole), .settled(.whole), as: .done)
    table.end(.settling(.part), .settled(.part), as: .failed, after: .giveUp)
    for extent in Machine.Extent.allCases {
      let (trying, awaiting) = (Machine.State.trying(extent), Machine.State.awaitingAnswers(extent))
      for mayReleaseSlot in [false, true] {
        table.when(
          trying, .tried(mayReleaseSlot: mayReleaseSlot), to: awaiting,
          .awaitAnswers(releasingSlot: mayReleaseSlot))
      }
      table.when(awaiting, .unanswered, to: awaiting, .deferAndAwaitAnswers)
      table.when(awaiting, .answered, to: .settling(extent), .settle(extent))
      for state in [trying, awaiting, .settling(extent)] {
        table.end(
          state, .failed(hasSent: false), .failed(hasSent: true), as: .failed, after: .giveUp)
      }
    }
  }

  private static func addInterruptions(to table: inout Table) {
    for state in states where isOurs(state) {
      table.when(state, .renewal(.held), to: state, .extendClaim)
      table.when(state, .renewal(.another), to: .lost, .stopSending)
      // The mark may be its own.
      if state != .settling(.whole) {
        table.when(state, .renewal(.settled), to: .lost, .stopSending)
      }
      table.when(state, .laneStopped, to: .stopped, .stopSending)
    }

    let results: [Machine.Input] = [
      .sent, .tried(mayReleaseSlot: false), .tried(mayReleaseSlot: true), .answered, .unanswered,
      .settled(.part), .failed(hasSent: false), .failed(hasSent: true),
    ]
    for result in results {
      table.end(.lost, result, as: .again(milliseconds: nil), after: .abandonPushes)
      table.end(.stopped, result, as: .failed, after: .abandonPushes)
    }
    table.end(.lost, .settled(.whole), as: .done)
    table.end(.stopped, .settled(.whole), as: .done)
  }

  private static func isOurs(_ state: Machine.State) -> Bool {
    switch state {
    case .sending, .trying, .awaitingAnswers, .settling: true
    case .new, .waiting, .bidding, .lost, .stopped, .ended: false
    }
  }

  @Test func eachInputInEachStateHasOneResult() {
    let table = Self.table
    var found = 0
    for state in Self.states {
      for input in Self.inputs {
        var machine = Self.machine(in: state)
        let action = machine.take(input)
        let expected = table[Step(state: state, input: input)]
        if expected != nil { found += 1 }
        #expect(
          Result(state: machine.state, action: action)
            == expected ?? Result(state: state, action: .nothing), "\(state), \(input)")
      }
    }
    #expect(found == table.count, "every row of the table was asked for")
  }

  @Test func onlyASegmentThatIsOursOrMayBecomeSoMaySend() {
    for state in Self.states {
      let isOver = state == .lost || state == .stopped || state == .ended
      #expect(Self.machine(in: state).maySend == !isOver)
    }
  }

  /// Also while its outcomes are recorded, and when it is another's.
  @Test(arguments: [false, true])
  func aSegmentThatHasLeftItsSlotCountsAsSuch(mayReleaseSlot: Bool) {
    for more: [Machine.Input] in [[], [.unanswered], [.answered], [.renewal(.another)]] {
      var machine = Self.machine(in: .trying(.whole))
      #expect(!machine.hasLeftSlot)
      for input in [.tried(mayReleaseSlot: mayReleaseSlot)] + more { _ = machine.take(input) }
      #expect(machine.hasLeftSlot == mayReleaseSlot)
    }
  }
}
