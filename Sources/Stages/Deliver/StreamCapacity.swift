/// How many more pushes a connection takes now. Some of its streams are kept for small fan-outs:
/// what is sent together is answered together, and where a giant has all streams the pushes of a
/// small one would wait up to a round trip for the next wave of answers.
struct StreamCapacity: Equatable {
  /// One stream of so many is kept.
  private static let share = 11

  /// Of any fan-out.
  let forAll: Int
  /// Of a small one.
  let forSmall: Int

  /// - Parameter streams: that may be in use at a time, those that are kept among them.
  init(streams: Int, inFlight: Int) {
    forSmall = max(0, streams - inFlight)
    forAll = max(0, forSmall - streams / Self.share)
  }

  /// The same for all.
  init(_ count: Int) {
    forAll = count
    forSmall = count
  }

  /// The streams of a connection that has so many for any fan-out, with those that are kept.
  static func streams(forAll count: Int) -> Int { count + count / (share - 1) }
}
