/// Whose pushes go next: fan-outs take turns by a number of pushes, so that one that gets nowhere,
/// or a giant, costs another no more than its share. Small ones go first, in turns among
/// themselves; the others have a turn after some of theirs, so that they go on whatever the small
/// ones do.
struct FanOutTurns {
  /// Turns of small ones before one of the others.
  static let smallTurns = 3

  /// Each in the order of their turns; who has it stands last.
  private var small: [FanOutLine] = []
  private var others: [FanOutLine] = []
  /// Turns of small ones since one of the others, or none of those waited.
  private var smallSince = 0
  /// Who has the turn, as long as something of it is left.
  private(set) var current: FanOutLine?
  private var left = 0

  func count(isSmall: Bool) -> Int { isSmall ? small.count : others.count }

  mutating func add(_ line: FanOutLine) {
    if line.fanOut.isSmall { add(line, to: &small) } else { add(line, to: &others) }
  }

  private func add(_ line: FanOutLine, to lines: inout [FanOutLine]) {
    let hasTurn = lines.last.map { $0 === current } ?? false
    lines.insert(line, at: hasTurn ? lines.count - 1 : lines.count)
  }

  mutating func remove(_ line: FanOutLine) {
    if current === line { current = nil }
    if line.fanOut.isSmall {
      if let index = small.lastIndex(where: { $0 === line }) { small.remove(at: index) }
    } else {
      if let index = others.lastIndex(where: { $0 === line }) { others.remove(at: index) }
    }
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
    if !small.isEmpty, others.isEmpty || smallSince < Self.smallTurns {
      smallSince = others.isEmpty ? 0 : smallSince + 1
      current = Self.rotate(&small)
    } else {
      smallSince = 0
      current = Self.rotate(&others)
    }
    return current.map { ($0, length) }
  }

  mutating func took(_ pushes: Int) { left -= pushes }

  private static func rotate(_ lines: inout [FanOutLine]) -> FanOutLine? {
    if lines.count > 1 { lines.append(lines.removeFirst()) }
    return lines.last
  }
}
