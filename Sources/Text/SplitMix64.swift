/// Numbers that look random and are the same for the same seed (Steele, Lea, Flood 2014). Not for
/// secrets.
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private static let step: UInt64 = 0x9E37_79B9_7F4A_7C15

  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= Self.step
    return Self.mix(state)
  }

  /// The first number of this seed: what looks random and belongs to a number for good.
  package static func value(of seed: UInt64) -> UInt64 {
    mix(seed &+ step)
  }

  /// The finishing step, which is one-to-one: distinct numbers give distinct ones.
  package static func mix(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
