/// Bounds further tries while there is something to be sent for the first time: devices that are
/// refused over and over take a tenth of the requests from others, however many they are. What a
/// budget holds back goes when nothing else waits. A pure machine.
struct RetryBudget {
  /// First tries for one further try: that one is a tenth of them all.
  private static let firstsForOne = 9
  /// Further tries that are saved up at most.
  private static let most = 32

  /// In first tries.
  private var credit = most * firstsForOne

  var mayRetry: Bool { credit >= Self.firstsForOne }

  /// Pushes have left. Stragglers come with their fan-out's turn, as what was never sent does.
  mutating func sent(_ run: ReadyRun, _ pushes: Int) {
    if case .returned = run.place, run.first.isAnotherTry {
      credit = max(0, credit - pushes * Self.firstsForOne)
    } else {
      credit = min(Self.most * Self.firstsForOne, credit + pushes)
    }
  }
}
