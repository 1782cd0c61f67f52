/// One source of chance for all who decide by it.
final class Chance {
  private var random: any RandomNumberGenerator

  init(_ random: any RandomNumberGenerator) { self.random = random }

  func next() -> UInt64 { random.next() }
}
