import Testing

@testable import Deliver

/// Which ordinary connection suspects have while there is no helper.
@Suite struct BorrowedConnectionTests {
  private static let turn = BorrowedConnection.turn

  private struct Step {
    var now: UInt64
    /// In flight on each place that is open.
    var open: [Int: Int]
    var isWanted = true
    var areOthersReady = true
    var place: Int?
  }

  private static let ways: [[Step]] = [
    // The one with the least to do, and it stays so.
    [
      Step(now: 1, open: [0: 9, 1: 3], place: 1), Step(now: 2, open: [0: 0, 1: 3], place: 1),
      Step(now: 99 * turn, open: [0: 0, 1: 3], place: 1),
      Step(now: 99 * turn, open: [0: 0, 1: 3], isWanted: false, place: nil),
    ],
    // It was lost: another.
    [Step(now: 1, open: [0: 9, 1: 3], place: 1), Step(now: 2, open: [0: 9], place: 0)],
    [Step(now: 1, open: [:], place: nil), Step(now: 2, open: [1: 1], place: 1)],
    // The only one goes to and fro.
    [
      Step(now: 1, open: [0: 5], place: 0), Step(now: turn, open: [0: 0], place: 0),
      Step(now: turn + 1, open: [0: 0], place: nil), Step(now: 2 * turn, open: [0: 0], place: nil),
      Step(now: 2 * turn + 1, open: [0: 9], place: 0),
    ],
    // But where nobody else wants it.
    [
      Step(now: 1, open: [0: 5], areOthersReady: false, place: 0),
      Step(now: 9 * turn, open: [0: 0], areOthersReady: false, place: 0),
    ],
    // A second one is there meanwhile.
    [
      Step(now: 1, open: [0: 5], place: 0), Step(now: turn + 1, open: [0: 0], place: nil),
      Step(now: turn + 2, open: [0: 0, 1: 2], place: 0),
    ],
    // Nothing is remembered of a loan that was over.
    [
      Step(now: 1, open: [0: 5], place: 0), Step(now: turn + 1, open: [0: 0], place: nil),
      Step(now: turn + 2, open: [0: 0], isWanted: false, place: nil),
      Step(now: turn + 3, open: [0: 0], place: 0),
    ],
  ]

  @Test(arguments: ways.indices)
  func lends(_ way: Int) {
    var borrowed = BorrowedConnection()
    for step in Self.ways[way] {
      let candidates = step.open.sorted { $0.key < $1.key }
        .map { BorrowedConnection.Candidate(place: $0.key, inFlight: $0.value) }
      borrowed.update(
        candidates, isWanted: step.isWanted, areOthersReady: step.areOthersReady, at: step.now)
      #expect(borrowed.place == step.place, "\(step)")
    }
  }
}
