/// Whose pushes go next: fan-outs take turns by a number of pushes, so that one that gets nowhere,
/// or a giant, costs another no more than its share. Small ones go first, in turns among
/// themselves; the large ones have a turn after some of theirs, so that they go on whatever the
/// small ones do. Those that are stuck have one after some turns of all others.
struct FanOutTurns {
  /// Turns of small ones before one of the large, and of both before one of those that are stuck.
  static let turnsBefore = 3

  /// Each in the order of their turns; who has it stands last.
  private var small: [FanOutLine] = []
  private var large: [FanOutLine] = []
  private var stuck: [FanOutLine] = []
  /// Turns of small ones since one of the large, or none of those waited.
  private var smallSince = 0
  /// The same of all others and those that are stuck.
  private var othersSince = 0
  /// Who has the turn, as long as something of it is left.
  private(set) var current: FanOutLine?
  private var left = 0

  var all: [FanOutLine] { small + large + stuck }

  func count(_ kind: FanOutLine.Kind) -> Int {
    switch kind {
    case .small: small.count
    case .large: large.count
    case .stuck: stuck.count
    }
  }

  mutating func add(_ line: FanOutLine) {
    switch line.kind {
    case .small: add(line, to: &small)
    case .large: add(line, to: &large)
    case .stuck: add(line, to: &stuck)
    }
  }

  private func add(_ line: FanOutLine, to lines: inout [FanOutLine]) {
    let hasTurn = lines.last.map { $0 === current } ?? false
    lines.insert(line, at: hasTurn ? lines.count - 1 : lines.count)
  }

  mutating func remove(_ line: FanOutLine) {
    if current === line { current = nil }
    switch line.kind {
    case .small: Self.remove(line, from: &small)
    case .large: Self.remove(line, from: &large)
    case .stuck: Self.remove(line, from: &stuck)
    }
  }

  private static func remove(_ line: FanOutLine, from lines: inout [FanOutLine]) {
    if let index = lines.lastIndex(where: { $0 === line }) { lines.remove(at: index) }
  }

  /// Whose turn it is, and how many pushes of it may go; nil when nobody waits.
  /// - Parameter length: pushes of a turn that begins.
  mutating func next(length: Int) -> (line: FanOutLine, left: Int)? {
    if let current, left > 0 {
      // The turns may be shorter by now.
      left = min(left, length)
      return (current, left)
    }
    left = length
    current = nextStuck() ?? nextOther()
    return current.map { ($0, length) }
  }

  private mutating func nextStuck() -> FanOutLine? {
    guard !stuck.isEmpty else { return nil }
    let areOthers = !small.isEmpty || !large.isEmpty
    guard !areOthers || othersSince >= Self.turnsBefore else {
      othersSince += 1
      return nil
    }
    othersSince = 0
    return Self.rotate(&stuck)
  }

  private mutating func nextOther() -> FanOutLine? {
    guard !small.isEmpty, large.isEmpty || smallSince < Self.turnsBefore else {
      smallSince = 0
      return Self.rotate(&large)
    }
    smallSince = large.isEmpty ? 0 : smallSince + 1
    return Self.rotate(&small)
  }

  /// One push goes before its turn.
  mutating func begin(_ line: FanOutLine) {
    current = line
    left = 1
  }

  mutating func took(_ pushes: Int) { left -= pushes }

  private static func rotate(_ lines: inout [FanOutLine]) -> FanOutLine? {
    if lines.count > 1 { lines.append(lines.removeFirst()) }
    return lines.last
  }
}
