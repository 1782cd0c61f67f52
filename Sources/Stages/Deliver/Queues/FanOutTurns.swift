/// Whose pushes go next: fan-outs take turns by a number of pushes, so that one that gets nowhere,
/// or a giant, costs another no more than its share. Small ones go first, in turns among
/// themselves; the large ones have a turn after some of theirs, so that they go on whatever the
/// small ones do. Those that are stuck have one after some turns of all others. Nobody has one
/// while a limit of pushes a second lets nothing of it go.
struct FanOutTurns {
  /// Turns of small ones before one of the large, and of both before one of those that are stuck.
  static let turnsBefore = 3

  /// By kind, each in the order of their turns; who has it stands last.
  private var lines = [[FanOutLine]](repeating: [], count: FanOutLine.Kind.allCases.count)
  /// Turns of small ones since one of the large, or none of those waited.
  private var smallSince = 0
  /// The same of all others and those that are stuck.
  private var othersSince = 0
  /// Lines of fan-outs that have a limit.
  private var limited = 0
  /// Who has the turn, as long as something of it is left.
  private(set) var current: FanOutLine?
  private var left = 0

  /// Small ones first, those that are stuck last.
  var all: [FanOutLine] { lines.flatMap { $0 } }

  /// Whether something may go.
  var mayGo: Bool { !mayBeHeldUp || lines.joined().contains(where: \.mayGo) }

  /// More could be sent: those that limits hold up say so.
  func lack() {
    guard limited > 0 else { return }
    for line in lines.joined() where !line.mayGo { line.fanOut.lack() }
  }

  /// A limit may hold up some of them.
  var mayBeHeldUp: Bool { limited > 0 || !lines[FanOutLine.Kind.stuck.rawValue].isEmpty }

  mutating func add(_ line: FanOutLine) {
    if !line.fanOut.limits.isEmpty { limited += 1 }
    let kind = line.kind.rawValue
    let hasTurn = lines[kind].last.map { $0 === current } ?? false
    lines[kind].insert(line, at: hasTurn ? lines[kind].count - 1 : lines[kind].count)
  }

  mutating func remove(_ line: FanOutLine) {
    if current === line { current = nil }
    guard let index = lines[line.kind.rawValue].lastIndex(where: { $0 === line }) else { return }
    lines[line.kind.rawValue].remove(at: index)
    if !line.fanOut.limits.isEmpty { limited -= 1 }
  }

  /// Whose turn it is, and how many pushes of it may go; nil when nobody waits that may.
  /// - Parameter length: pushes of a turn that begins.
  mutating func next(length: Int) -> (line: FanOutLine, left: Int)? {
    if let current, left > 0, mayGo(current) {
      // The turns may be shorter by now.
      left = min(left, length)
      return (current, left)
    }
    left = length
    current = nextStuck() ?? nextOther()
    return current.map { ($0, length) }
  }

  private func mayGo(_ line: FanOutLine) -> Bool { !mayBeHeldUp || line.mayGo }

  private mutating func nextStuck() -> FanOutLine? {
    guard waits(.stuck) else { return nil }
    guard othersSince >= Self.turnsBefore || !waits(.small) && !waits(.large) else {
      othersSince += 1
      return nil
    }
    othersSince = 0
    return rotate(.stuck)
  }

  private mutating func nextOther() -> FanOutLine? {
    let areLarge = waits(.large)
    guard waits(.small), !areLarge || smallSince < Self.turnsBefore else {
      smallSince = 0
      return rotate(.large)
    }
    smallSince = areLarge ? smallSince + 1 : 0
    return rotate(.small)
  }

  private func waits(_ kind: FanOutLine.Kind) -> Bool {
    mayBeHeldUp ? lines[kind.rawValue].contains(where: \.mayGo) : !lines[kind.rawValue].isEmpty
  }

  mutating func took(_ pushes: Int) { left -= pushes }

  private mutating func rotate(_ kind: FanOutLine.Kind) -> FanOutLine? {
    let kind = kind.rawValue
    guard let index = lines[kind].firstIndex(where: mayGo) else { return nil }
    if lines[kind].count > 1 { lines[kind].append(lines[kind].remove(at: index)) }
    return lines[kind].last
  }
}
