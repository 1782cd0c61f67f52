/// Which fan-outs' pushes may go now, of those that have their turn.
struct TurnFilter: Equatable {
  /// Of small fan-outs alone.
  var onlySmall = false
  /// What was never sent alone.
  var onlyFresh = false

  static let none = TurnFilter()

  func admits(_ line: FanOutLine) -> Bool {
    (!onlySmall || line.kind == .small) && (!onlyFresh || line.freshCount > 0)
  }
}
