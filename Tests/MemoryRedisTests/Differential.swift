import MemoryRedis

/// Does the same to a real server and to one in memory, and compares what they answer.
final class Differential {
  /// 2026-11-26, in microseconds since 1970.
  static let start: Int64 = 1_795_726_985_000_000

  struct Difference: CustomStringConvertible {
    let index: Int
    let step: Step
    let real: StoreReply
    let memory: StoreReply

    var description: String {
      "step \(index) at \(step.time): \(Differential.text(step))\n  real:   "
        + "\(Differential.text(real))\n  memory: \(Differential.text(memory))"
    }
  }

  private let real: RealRedis
  private(set) var store = RedisStore()
  private var limited = RedisAccess()

  init() throws {
    real = try RealRedis(now: Self.start)
    limited.denied = RealRedis.denied
  }

  /// Both are empty, and know all scripts.
  private func reset() throws {
    _ = try real.connection.ask([
      ["REPLICAOF", "NO", "ONE"], ["CONFIG", "SET", "maxmemory", "0"], ["FLUSHALL"],
      ["SCRIPT", "FLUSH"],
    ])
    store = RedisStore()
    let loads = RandomSteps.sources.map { ["SCRIPT", "LOAD", $0] }
    _ = try real.connection.ask(loads)
    for load in loads { _ = store.execute(load, now: Self.start) }
  }

  /// - Returns: where they differ first.
  func run(_ steps: [Step]) throws -> Difference? {
    try reset()
    var index = 0
    while index < steps.count {
      var end = index + 1
      while end < steps.count, end - index < 64, Self.belongTogether(steps[index], steps[end]) {
        end += 1
      }
      if let difference = try run(steps, index..<end) { return difference }
      index = end
    }
    return nil
  }

  /// Whether they may go to the real server in one message.
  private static func belongTogether(_ first: Step, _ second: Step) -> Bool {
    guard first.time == second.time else { return false }
    switch (first.action, second.action) {
    case (.command, .command), (.limitedCommand, .limitedCommand): return true
    default: return false
    }
  }

  private func run(_ steps: [Step], _ range: Range<Int>) throws -> Difference? {
    let first = steps[range.lowerBound]
    real.now = first.time
    switch first.action {
    case .setOutOfMemory(let isFull):
      store.isOutOfMemory = isFull
      _ = try real.connection.ask([["CONFIG", "SET", "maxmemory", isFull ? "1" : "0"]])
      return nil
    case .setReplica(let isReplica):
      store.isReplica = isReplica
      let master: [ByteString] = isReplica ? ["127.0.0.1", "1"] : ["NO", "ONE"]
      _ = try real.connection.ask([["REPLICAOF"] + master])
      return nil
    case .command: return try compare(steps, range, real.connection, RedisAccess())
    case .limitedCommand: return try compare(steps, range, real.limited, limited)
    }
  }

  private func compare(
    _ steps: [Step], _ range: Range<Int>, _ connection: RealConnection, _ access: RedisAccess
  ) throws -> Difference? {
    let replies = try connection.ask(range.map { steps[$0].command ?? [] })
    for (index, reply) in zip(range, replies) {
      let step = steps[index]
      let mine = store.execute(step.command ?? [], now: step.time, access: access)
      _ = store.takeEffects()
      if !Self.areEqual(reply, mine, step.comparison) {
        return Difference(index: index, step: step, real: reply, memory: mine)
      }
    }
    return nil
  }

  // MARK: comparing

  private static func areEqual(
    _ real: StoreReply, _ memory: StoreReply, _ comparison: Step.Comparison
  ) -> Bool {
    if written(real) == written(memory) { return true }
    switch comparison {
    case .exact: return false
    case .unordered: return written(sorted(real)) == written(sorted(memory))
    case .size: return size(real) == size(memory)
    }
  }

  /// Line breaks in errors become blanks on the wire.
  private static func written(_ reply: StoreReply) -> [UInt8] {
    var bytes: [UInt8] = []
    reply.write(to: &bytes)
    return bytes
  }

  private static func sorted(_ reply: StoreReply) -> StoreReply {
    guard case .array(let replies) = reply else { return reply }
    return .array(
      replies.map { sorted($0) }.sorted { written($0).lexicographicallyPrecedes(written($1)) })
  }

  private static func size(_ reply: StoreReply) -> Int {
    switch reply {
    case .array(let replies): replies.count
    case .bulk: -1
    case .null, .nullArray: -2
    default: -3
    }
  }

  // MARK: for people

  static func text(_ step: Step) -> String {
    switch step.action {
    case .command(let words): text(words)
    case .limitedCommand(let words): "(limited) " + text(words)
    case .setOutOfMemory(let isFull): "memory is \(isFull ? "full" : "not full")"
    case .setReplica(let isReplica): "is \(isReplica ? "a replica" : "a master")"
    }
  }

  private static func text(_ words: [ByteString]) -> String {
    words.map { word in
      let text = word.text.replacing("\n", with: "\\n")
      return text.count > 200 ? "\(text.prefix(120))… (\(word.count) bytes)" : "'\(text)'"
    }.joined(separator: " ")
  }

  static func text(_ reply: StoreReply) -> String {
    String(decoding: written(reply).prefix(2_000), as: UTF8.self).replacing("\r\n", with: " ")
  }

  // MARK: shrinking

  /// The fewest steps found that end in a difference.
  /// - Parameter budget: steps that are done for it, all in all.
  func shrink(_ steps: [Step], budget: Int = 1_000_000) throws -> (steps: [Step], Difference)? {
    var left = budget
    var best: (steps: [Step], Difference)?
    func differs(_ steps: [Step]) throws -> Bool {
      left -= steps.count + 100
      guard let difference = try run(steps) else { return false }
      best = (Array(steps.prefix(difference.index + 1)), difference)
      return true
    }
    var length = 32
    while length < steps.count, try !differs(steps.suffix(length)) { length *= 4 }
    if best == nil, try !differs(steps) { return nil }
    var size = max((best?.steps.count ?? 0) / 2, 1)
    while let steps = best?.steps, left > 0 {
      var start = max(steps.count - 1 - size, 0)
      var isShorter = false
      while left > 0, start >= 0 {
        var some = best?.steps ?? []
        let end = min(start + size, some.count - 1)
        if start < end {
          some.removeSubrange(start..<end)
          if try differs(some) { isShorter = true }
        }
        if start == 0 { break }
        start = max(start - size, 0)
      }
      if size == 1, !isShorter { break }
      if !isShorter || size > 1 { size = max(size / 2, 1) }
    }
    return best
  }
}
