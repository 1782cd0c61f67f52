import Text

/// Chance from a seed.
struct Dice {
  private var numbers: SplitMix64

  init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

  mutating func next() -> UInt64 { numbers.next() }

  /// 0..<count.
  mutating func roll(_ count: Int) -> Int { Int(next() % UInt64(count)) }

  mutating func chance(_ percent: Int) -> Bool { roll(100) < percent }

  mutating func pick<Element>(_ all: [Element]) -> Element { all[roll(all.count)] }

  /// 1 to `most` of what `make` makes.
  mutating func some<Element>(_ most: Int, _ make: (inout Dice) -> Element) -> [Element] {
    (0..<(1 + roll(most))).map { _ in make(&self) }
  }
}
