import Glibc

/// Chance that can be repeated.
struct Choices: RandomNumberGenerator {
  /// `TESTS_SEED` repeats who does what; chance still decides what comes between.
  static let testsSeed: UInt64 =
    getenv("TESTS_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 0...999_999)

  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return (state ^ state >> 31) &* 0x9E37_79B9_7F4A_7C15
  }
}
