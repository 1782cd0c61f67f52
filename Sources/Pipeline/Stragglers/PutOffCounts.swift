/// How many records of stragglers a lane puts off at the moment: a pure machine.
struct PutOffCounts {
  /// Records on their way to the end of the topic that hold no place meanwhile. Enough that a lane
  /// puts off thousands a second at 10 ms a write; at 128 KiB each 16 MiB.
  static let maximumOnTheirWay = 128
  /// Records of a worker that wait in memory for a last try, since Kafka's order would have them
  /// come too late.
  static let maximumLastTries = 64
  /// The longest that a record waits so: its offset cannot be committed meanwhile.
  static let longestLastTry: Duration = .seconds(10)

  private let delay: Duration
  private let maximumLastTries: Int
  private var onTheirWay = 0
  /// Records that wait in the pump for a last try.
  private var lastTries = 0

  /// - Parameter delay: how long records rest in Kafka.
  init(lanes: Int, delay: Duration) {
    self.delay = delay
    maximumLastTries = max(Self.maximumLastTries / lanes, 1)
  }

  /// A record sets out for the end of its topic. Whether it leaves its place meanwhile.
  mutating func begin() -> Bool {
    defer { onTheirWay += 1 }
    return onTheirWay < Self.maximumOnTheirWay
  }

  mutating func end() { onTheirWay -= 1 }

  /// Whether a record may wait in memory for its last try, which is due in `left`: not when it
  /// comes back from Kafka in time, and not for long.
  mutating func beginLastTry(in left: Duration) -> Bool {
    guard left > .zero, left < delay, left <= Self.longestLastTry, lastTries < maximumLastTries
    else { return false }
    lastTries += 1
    return true
  }

  mutating func endLastTry() { lastTries -= 1 }
}
