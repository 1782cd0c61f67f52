/// How many more pushes a connection takes now. Some of its streams are kept for small fan-outs:
/// what is sent together is answered together, and where a giant has all streams the pushes of a
/// small one would wait up to a round trip for the next wave of answers. Small ones may use all of
/// them, and large ones get theirs back in turn.
struct StreamCapacity: Equatable {
  /// One stream of so many is kept.
  private static let share = 21

  /// Of any fan-out.
  let forAll: Int
  /// Of a small one.
  let forSmall: Int

  /// - Parameters:
  ///   - streams: that may be in use at a time, those that are kept among them.
  ///   - small: of those in flight, pushes of small fan-outs.
  init(streams: Int, inFlight: Int, small: Int) {
    forSmall = max(0, streams - inFlight)
    let large = inFlight - small
    forAll = max(0, min(forSmall, streams - streams / Self.share - large))
  }

  /// The same for all.
  init(_ count: Int) {
    forAll = count
    forSmall = count
  }

  /// The streams of a connection that has so many for any fan-out, with those that are kept.
  static func streams(forAll count: Int) -> Int { count + count / (share - 1) }
}
