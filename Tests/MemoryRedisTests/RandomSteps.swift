@testable import MemoryRedis

/// What is done to both servers: a command, or a change of what they are.
struct Step {
  enum Action {
    case command([ByteString])
    /// By a user who may not do all.
    case limitedCommand([ByteString])
    case setOutOfMemory(Bool)
    case setReplica(Bool)
  }

  enum Comparison {
    case exact
    /// Members of a set are in it, or keys.
    case unordered
    /// Chance picks what is in it.
    case size
  }

  /// Microseconds since 1970.
  var time: Int64
  let action: Action
  var comparison = Comparison.exact

  var command: [ByteString]? {
    switch action {
    case .command(let words), .limitedCommand(let words): words
    case .setOutOfMemory, .setReplica: nil
    }
  }
}

/// Steps from a seed.
struct RandomSteps {
  private static let scripts = EventScripts.all + OtherScripts.all + UserScripts.all
  private static let allScripts = scripts + StrangeScripts.all
  static let sources = allScripts.map(\.source)
  static let digests = allScripts.map { SHA1.hexadecimal($0.source.bytes) }

  private var dice: Dice
  private var time = Differential.start
  private var mode: Step.Action?
  private var modeLeft = 0

  init(seed: UInt64) { dice = Dice(seed: seed) }

  mutating func next() -> Step {
    if dice.chance(8) { passTime() }
    if let step = changeMode() { return step }
    return dice.chance(45) ? scriptStep() : commandStep()
  }

  private mutating func passTime() {
    let milliseconds = dice.pick([0, 1, 1, 5, 100, 250, 1_000, 1_000, 5_000, 60_000, 700_000])
    time += Int64(milliseconds) * 1000 + Int64(dice.roll(1_000))
    if dice.chance(1) { time += 86_400_000_000 }
    if dice.chance(2) { time -= Int64(dice.roll(3_000_000)) }
  }

  /// Now and then both have no memory for some steps, or are replicas.
  private mutating func changeMode() -> Step? {
    if let mode {
      modeLeft -= 1
      guard modeLeft < 0 else { return nil }
      self.mode = nil
      if case .setReplica = mode { return Step(time: time, action: .setReplica(false)) }
      return Step(time: time, action: .setOutOfMemory(false))
    }
    guard dice.roll(400) == 0 else { return nil }
    let begun = Step.Action.setOutOfMemory(true)
    let other = Step.Action.setReplica(true)
    mode = dice.chance(60) ? begun : other
    modeLeft = 10 + dice.roll(40)
    return mode.map { Step(time: time, action: $0) }
  }

  private mutating func step(
    _ command: [ByteString], _ comparison: Step.Comparison = .exact
  ) -> Step {
    let isLimited = dice.chance(6)
    return Step(
      time: time, action: isLimited ? .limitedCommand(command) : .command(command),
      comparison: comparison)
  }

  private mutating func commandStep() -> Step {
    let command = RandomCommands.make(&dice)
    let comparison: Step.Comparison =
      switch command[0].lowercased {
      case "smembers", "keys", "scan", "sscan": .unordered
      case "hgetall", "hkeys", "hvals", "hscan": .unordered
      case "srandmember": .size
      default: .exact
      }
    return step(command, comparison)
  }

  private mutating func scriptStep() -> Step {
    let index = dice.roll(dice.chance(75) ? Self.scripts.count : Self.allScripts.count)
    let script = Self.allScripts[index]
    var scriptDice = ScriptDice(dice: dice, now: time / 1000)
    var call = script.make(&scriptDice)
    dice = scriptDice.dice
    // A key of the script holds something else, or is not the script's.
    if dice.chance(2), !call.keys.isEmpty {
      let key = ByteString(call.keys[dice.roll(call.keys.count)])
      let spoil: [[ByteString]] = [
        ["SET", key, "x", "PX", "5000"], ["DEL", key], ["ZADD", key, "1", "m"], ["DEL", key],
        ["HSET", key, "state", "x"], ["SADD", key, "0"], ["DEL", key],
      ]
      return step(dice.pick(spoil))
    }
    if dice.chance(1), !call.words.isEmpty {
      // No larger number: the script of the sums would count up to it.
      call.words[dice.roll(call.words.count)] = dice.pick(["", "x", "-1", "1e3", "0"])
    }
    let isByDigest = dice.chance(85)
    let words = [
      isByDigest ? "EVALSHA" : "EVAL", isByDigest ? Self.digests[index] : script.source,
      ByteString(Int64(call.keys.count)),
    ]
    let parameters = (call.keys + call.words).map { ByteString($0) }
    return step(words + parameters, script.isUnordered ? .unordered : .exact)
  }
}
