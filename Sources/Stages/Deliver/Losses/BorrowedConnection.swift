/// Which ordinary connection suspects borrow while no helper can be had, as where a server or
/// something before it admits no further connection. One that has nothing to do is lent at once;
/// where there are always ordinary pushes, one of two is not filled any more until the suspects are
/// through. The only one that there is goes to and fro. A pure machine; times are monotonic
/// nanoseconds.
struct BorrowedConnection {
  /// So long the only connection is lent, and then not.
  static let turn: UInt64 = 1_000_000_000

  /// An ordinary connection that is open.
  struct Candidate {
    var place: Int
    var inFlight: Int
  }

  private(set) var place: Int?
  /// When it was lent, or given back, last.
  private var changedAt: UInt64 = 0
  private var wasGivenBack = false

  /// - Parameters:
  ///   - isWanted: suspects wait for a connection, or are in flight on the one that is lent.
  ///   - areOthersReady: ordinary pushes wait for one too.
  mutating func update(
    _ candidates: [Candidate], isWanted: Bool, areOthersReady: Bool, at now: UInt64
  ) {
    guard isWanted else {
      place = nil
      wasGivenBack = false
      return
    }
    let isOnly = candidates.count == 1 && areOthersReady
    if let place, candidates.contains(where: { $0.place == place }) {
      guard isOnly, now &- changedAt >= Self.turn else { return }
      self.place = nil
      wasGivenBack = true
      changedAt = now
      return
    }
    place = nil
    if isOnly, wasGivenBack, now &- changedAt < Self.turn { return }
    guard let least = candidates.min(by: { $0.inFlight < $1.inFlight }) else { return }
    place = least.place
    changedAt = now
  }
}
