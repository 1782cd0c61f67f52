/// The one source of random numbers of all routes of a lane. Confined to its loop.
final class RandomSource {
  private let number: () -> UInt64

  init(_ number: @escaping () -> UInt64) { self.number = number }

  func next() -> UInt64 { number() }
}
