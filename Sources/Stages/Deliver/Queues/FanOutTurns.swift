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
  private var returnTurns = 0

  /// Small ones first, those that are stuck last.
  var all: [FanOutLine] { lines.flatMap { $0 } }

  /// Whether limits let something go.
  var mayGo: Bool { limited == 0 || lines.joined().contains(where: \.mayGo) }

  /// More could be sent: those that limits hold up say so.
  func lack(_ filter: TurnFilter) {
    guard limited > 0 else { return }
    for line in lines.joined() where !line.mayGo && filter.admits(line) { line.fanOut.lack() }
  }

  /// A limit may hold up some of them.
  var haveLimits: Bool { limited > 0 }

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

  /// Whose turn it is, and how many pushes of it may go; nil when nobody waits that may. Whom the
  /// filter does not admit loses what is left of its turn.
  /// - Parameter length: pushes of a turn that begins.
  mutating func next(
    length: Int, _ filter: TurnFilter = .none
  ) -> (line: FanOutLine, left: Int)? {
    // It takes nobody's turn: large ones have what they may have in flight.
    guard !filter.onlySmall else { return rotate(.small, filter).map { ($0, length) } }
    if let current, left > 0, mayGo(current, filter) {
      // The turns may be shorter by now.
      left = min(left, length)
      return (current, left)
    }
    left = length
    current = nextStuck(filter) ?? nextOther(filter)
    return current.map { ($0, length) }
  }

  /// Whether somebody waits that may go.
  func mayGo(_ filter: TurnFilter) -> Bool {
    FanOutLine.Kind.allCases.contains { waits($0, filter) }
  }

  private func mayGo(_ line: FanOutLine, _ filter: TurnFilter) -> Bool {
    (limited == 0 || line.mayGo) && (filter == .none || filter.admits(line))
  }

  private mutating func nextStuck(_ filter: TurnFilter) -> FanOutLine? {
    guard waits(.stuck, filter) else { return nil }
    guard othersSince >= Self.turnsBefore || !waits(.small, filter) && !waits(.large, filter)
    else {
      othersSince += 1
      return nil
    }
    othersSince = 0
    return rotate(.stuck, filter)
  }

  private mutating func nextOther(_ filter: TurnFilter) -> FanOutLine? {
    let areLarge = waits(.large, filter)
    guard waits(.small, filter), !areLarge || smallSince < Self.turnsBefore else {
      smallSince = 0
      return rotate(.large, filter)
    }
    smallSince = areLarge ? smallSince + 1 : 0
    return rotate(.small, filter)
  }

  private func waits(_ kind: FanOutLine.Kind, _ filter: TurnFilter) -> Bool {
    limited == 0 && filter == .none
      ? !lines[kind.rawValue].isEmpty
      : lines[kind.rawValue].contains { mayGo($0, filter) }
  }

  /// Who has something that came back, and has had none of it sent for longest. It takes nobody's
  /// turn.
  mutating func nextReturning(_ filter: TurnFilter, mayRetry: Bool) -> FanOutLine? {
    let line = lines.joined()
      .filter { $0.returns(mayRetry: mayRetry) && mayGo($0, filter) }
      .min { $0.returnTurn < $1.returnTurn }
    returnTurns += 1
    line?.returnTurn = returnTurns
    return line
  }

  /// Some pushes go before their turn.
  mutating func begin(_ line: FanOutLine, left pushes: Int) {
    current = line
    left = pushes
  }

  mutating func took(_ pushes: Int) { left -= pushes }

  private mutating func rotate(_ kind: FanOutLine.Kind, _ filter: TurnFilter) -> FanOutLine? {
    let kind = kind.rawValue
    guard let index = lines[kind].firstIndex(where: { mayGo($0, filter) }) else { return nil }
    if lines[kind].count > 1 { lines[kind].append(lines[kind].remove(at: index)) }
    return lines[kind].last
  }
}
