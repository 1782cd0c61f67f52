import MemoryRedis

/// Random commands on a dozen keys, most of them right and some of them not.
struct RandomCommands {
  static let keys = (0..<14).map { "k\($0)" }

  private static let numbers = [
    "0", "1", "2", "-1", "5", "10", "100", "9223372036854775807", "-9223372036854775808",
    "9223372036854775808", "4294967296", "1.5", "01", "-0", "+1", " 1", "", "x", "1e3",
  ]
  private static let scores = [
    "0", "1", "-1", "1.5", "0.1", "1e20", "inf", "-inf", "nan", "x", "", " 1", "0x10", "3.0",
    "17976931348623157", "1e400", "123456789012",
  ]
  private static let ranges = ["-inf", "+inf", "inf", "0", "(1", "1", "(x", "", "5", "(1.5"]
  private static let members = (0..<6).map { "m\($0)" } + ["1", "22", "", "a b"]
  private static let identifiers = [
    "*", "*", "*", "*", "*", "0-0", "0-1", "1-1", "5-*", "7", "x", "1-x", "18446744073709551615",
    "18446744073709551616-1", "9-9-9", "+", "-",
  ]
  private static let bounds = ["-", "+", "0", "1-1", "(1-1", "(-", "5", "x", "(5", "1795726985231"]

  /// Where the last word may be any bytes. An error that quotes such a word ends at a NUL byte.
  private static let endInValue: Set = [
    "HSET", "HGET", "HDEL", "SADD", "SREM", "SISMEMBER", "ECHO", "APPEND", "ZSCORE", "ZADD",
    "HEXISTS", "SETNX", "EXISTS",
  ]

  static func make(_ dice: inout Dice) -> [ByteString] {
    let text: [String] =
      switch dice.roll(20) {
      case 0...1: key(&dice)
      case 2...4: ending(&dice)
      case 5...6: string(&dice)
      case 7...9: hash(&dice)
      case 10...12: set(&dice)
      case 13...14: sortedSet(&dice)
      case 15...16: stream(&dice)
      case 17: scan(&dice)
      case 18: server(&dice)
      default: broken(&dice)
      }
    var command = text.map { ByteString($0) }
    if endInValue.contains(text[0]), text.count > 1, dice.chance(8) {
      command[command.count - 1] = bytes(&dice)
    }
    if dice.chance(5) { command[0] = ByteString(command[0].text.lowercased()) }
    return command
  }

  private static func name(_ dice: inout Dice) -> String { dice.pick(keys) }

  private static func bytes(_ dice: inout Dice) -> ByteString {
    let length = dice.pick([1, 3, 63, 64, 128, 300, 4_096])
    return ByteString((0..<length).map { _ in UInt8(truncatingIfNeeded: dice.next()) })
  }

  /// A small number mostly.
  private static func number(_ dice: inout Dice) -> String {
    dice.chance(70) ? "\(dice.roll(200) - 20)" : dice.pick(numbers)
  }

  private static func key(_ dice: inout Dice) -> [String] {
    let key = name(&dice)
    switch dice.roll(6) {
    case 0...1: return ["DEL"] + dice.some(3) { name(&$0) }
    case 2: return ["EXISTS", key] + dice.some(2) { name(&$0) }
    case 3: return ["TYPE", key]
    case 4: return ["UNLINK", key]
    default: return ["RENAME", key, name(&dice)]
    }
  }

  private static func ending(_ dice: inout Dice) -> [String] {
    let key = name(&dice)
    switch dice.roll(9) {
    case 0: return ["TTL", key]
    case 1...2: return ["PTTL", key]
    case 3: return ["PERSIST", key]
    default:
      let command = dice.pick(["EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"])
      let options = dice.chance(30) ? dice.some(2) { $0.pick(["NX", "XX", "GT", "LT", "lt"]) } : []
      let isAbsolute = command.hasSuffix("AT")
      let unit = command.hasPrefix("P") ? 1000 : 1
      let start = isAbsolute ? Differential.start / 1_000_000 * Int64(unit) : 0
      let time =
        dice.chance(80)
        ? "\(start + Int64(unit * (dice.roll(3_000) - 20)))" : dice.pick(numbers)
      return [command, key, time] + options
    }
  }

  private static func string(_ dice: inout Dice) -> [String] {
    let key = name(&dice)
    switch dice.roll(9) {
    case 0: return ["GET", key]
    case 1: return ["MGET", key] + dice.some(3) { name(&$0) }
    case 2: return ["STRLEN", key]
    case 3: return ["SETNX", key, number(&dice)]
    case 4: return [dice.pick(["INCR", "DECR"]), key]
    case 5: return ["INCRBY", key, number(&dice)]
    case 6: return ["APPEND", key, dice.pick(numbers)]
    default:
      var command = ["SET", key, number(&dice)]
      if dice.chance(30) { command.append(dice.pick(["NX", "XX", "GET", "KEEPTTL", "foo"])) }
      if dice.chance(30) {
        command += [dice.pick(["EX", "PX", "px", "EXAT", "PXAT"]), number(&dice)]
      }
      if dice.chance(15) { command.append(dice.pick(["NX", "XX", "get", "KEEPTTL", "EX"])) }
      return command
    }
  }

  private static func hash(_ dice: inout Dice) -> [String] {
    let key = name(&dice)
    let member = dice.pick(members)
    switch dice.roll(12) {
    case 0...2: return ["HSET", key] + dice.some(3) { [$0.pick(members), number(&$0)] }.joined()
    case 3: return ["HSETNX", key, member, number(&dice)]
    case 4: return ["HGET", key, member]
    case 5: return ["HMGET", key] + dice.some(3) { $0.pick(members) }
    case 6: return ["HGETALL", key]
    case 7: return [dice.pick(["HKEYS", "HVALS"]), key]
    case 8: return dice.chance(50) ? ["HLEN", key] : ["HEXISTS", key, member]
    case 9: return ["HDEL", key] + dice.some(3) { $0.pick(members) }
    default: return ["HINCRBY", key, member, number(&dice)]
    }
  }

  private static func set(_ dice: inout Dice) -> [String] {
    let key = name(&dice)
    let member = dice.pick(members)
    switch dice.roll(10) {
    case 0...3: return ["SADD", key] + dice.some(4) { $0.pick(members) }
    case 4: return ["SREM", key] + dice.some(3) { $0.pick(members) }
    case 5: return ["SMEMBERS", key]
    case 6: return ["SCARD", key]
    case 7: return ["SISMEMBER", key, member]
    case 8: return ["SMISMEMBER", key] + dice.some(3) { $0.pick(members) }
    default:
      let count = dice.chance(60) ? ["\(dice.roll(12) - 4)"] : dice.chance(30) ? ["x"] : []
      return ["SRANDMEMBER", key] + count
    }
  }

  private static func sortedSet(_ dice: inout Dice) -> [String] {
    let key = name(&dice)
    switch dice.roll(9) {
    case 0...3:
      let options =
        dice.chance(30)
        ? dice.some(2) { $0.pick(["NX", "XX", "GT", "LT", "CH", "INCR"]) } : []
      let pairs = dice.some(3) { [score(&$0), $0.pick(members)] }.joined()
      return ["ZADD", key] + options + pairs
    case 4: return ["ZREM", key] + dice.some(3) { $0.pick(members) }
    case 5: return ["ZSCORE", key, dice.pick(members)]
    case 6: return ["ZCARD", key]
    case 7: return ["ZREMRANGEBYSCORE", key, dice.pick(ranges), dice.pick(ranges)]
    default:
      let options = dice.some(2) { $0.pick(["WITHSCORES", "REV", "withscores"]) }
      return ["ZRANGE", key, "\(dice.roll(8) - 4)", "\(dice.roll(8) - 4)"]
        + (dice.chance(60) ? options : [])
    }
  }

  private static func score(_ dice: inout Dice) -> String {
    dice.chance(60) ? "\(dice.roll(10))" : dice.pick(scores)
  }

  private static func stream(_ dice: inout Dice) -> [String] {
    let key = dice.chance(60) ? dice.pick(["k0", "k1"]) : name(&dice)
    // Whole streams are read: they must not grow for ever.
    if dice.chance(3) { return ["DEL", key] }
    switch dice.roll(8) {
    case 0: return ["XLEN", key]
    case 1...2:
      let count = dice.chance(70) ? ["COUNT", "\(dice.roll(8) - 1)"] : []
      let command = dice.pick(["XRANGE", "XREVRANGE"])
      return [command, key, dice.pick(bounds), dice.pick(bounds)] + count
    default:
      var trim = dice.chance(10) ? ["NOMKSTREAM"] : []
      if dice.chance(50) {
        let maximum = dice.chance(90) ? "\(dice.roll(120))" : number(&dice)
        trim += ["MAXLEN"] + dice.pick([[], ["~"], ["~"], ["="]]) + [maximum]
      }
      let names = dice.pick([["a"], ["a", "b"], ["c", "b", "a"]])
      let long = String(repeating: "v", count: dice.pick([1, 1, 70, 700, 5_000]))
      let fields = names.flatMap { [$0, dice.chance(80) ? number(&dice) : long] }
      return ["XADD", key] + trim + [dice.pick(identifiers)] + fields
    }
  }

  private static func scan(_ dice: inout Dice) -> [String] {
    let pattern = dice.pick(["*", "m?", "[a-k]*", "m[^1]", "\\m1"])
    let options = dice.chance(30) ? ["MATCH", pattern] : []
    let count = ["COUNT", dice.chance(90) ? "1000000" : dice.pick(["0", "-1", "x"])]
    switch dice.roll(5) {
    case 0: return ["SCAN", "0"] + options + count
    case 1: return ["SCAN", dice.pick(["0", "0", "x", ""]), "TYPE", "set"] + count
    case 2: return ["HSCAN", name(&dice), "0"] + options + count
    case 3: return ["SSCAN", name(&dice), dice.pick(["0", "0", "x"])] + options + count
    default: return ["KEYS", dice.pick(["*", "k*", "k?", "k[0-4]", "k1*", "*1*", "[^k]*"])]
    }
  }

  private static func server(_ dice: inout Dice) -> [String] {
    switch dice.roll(8) {
    case 0: ["PING"]
    case 1: ["PING", "a"]
    case 2: ["ECHO", dice.pick(members)]
    case 3: ["TIME"]
    case 4: ["SCRIPT", "EXISTS", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "abc"]
    case 5: ["SCRIPT", dice.pick(["LOAD", "load"]), dice.pick(["return 1", "x y", "return"])]
    case 6: dice.chance(5) ? ["FLUSHALL"] : ["FLUSHALL", "x"]
    default: dice.chance(10) ? ["SCRIPT", "FLUSH"] : ["SCRIPT", "EXISTS", "abc"]
    }
  }

  /// Too few words, too many, or a name that nobody has.
  private static func broken(_ dice: inout Dice) -> [String] {
    let names = CommandNames.all
    switch dice.roll(4) {
    case 0: return ["FOO"] + dice.some(3) { $0.pick(members) }
    case 1: return [dice.pick(names)]
    case 2: return [dice.pick(names), name(&dice)]
    default: return ["SCRIPT", dice.pick(["foo", "LOAD"])]
    }
  }
}

private enum CommandNames {
  static let all = [
    "DEL", "EXISTS", "TYPE", "EXPIRE", "PEXPIRE", "PERSIST", "TTL", "GET", "SET", "MGET", "INCR",
    "HSET", "HGET", "HMGET", "HDEL", "HLEN", "HINCRBY", "HSETNX", "SADD", "SREM", "SCARD",
    "SISMEMBER", "SMISMEMBER", "ZADD", "ZSCORE", "ZCARD", "ZREMRANGEBYSCORE", "ZRANGE", "XADD",
    "XRANGE", "XREVRANGE", "XLEN", "SSCAN", "HSCAN", "EVAL", "EVALSHA", "SCRIPT", "ECHO", "KEYS",
    "TIME", "STRLEN", "APPEND", "RENAME",
  ]
}
