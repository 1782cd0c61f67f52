import MemoryRedis
import Redis

/// A script and how it is called, at random.
struct ScriptCase: Sendable {
  struct Call {
    var keys: [String]
    /// ARGV.
    var words: [String]

    init(keys: [String], arguments: ScriptArguments = [:], list: [String] = []) {
      self.init(keys: keys, positional: arguments.words(list))
    }

    init(keys: [String], positional words: [String]) {
      self.keys = keys
      self.words = words
    }
  }

  let name: String
  let source: ByteString
  /// Its reply has members of a set in it, in their order.
  var isUnordered = false
  let make: @Sendable (inout ScriptDice) -> Call

  init(
    _ name: String, _ source: String, isUnordered: Bool = false,
    _ make: @escaping @Sendable (inout ScriptDice) -> Call
  ) {
    self.name = name
    self.source = ByteString(source)
    self.isUnordered = isUnordered
    self.make = make
  }
}

/// Names, keys and arguments as the product has them, from a few of each.
struct ScriptDice {
  var dice: Dice
  /// Ms since 1970.
  let now: Int64

  mutating func roll(_ count: Int) -> Int { dice.roll(count) }
  mutating func chance(_ percent: Int) -> Bool { dice.chance(percent) }
  mutating func pick<Element>(_ all: [Element]) -> Element { dice.pick(all) }

  mutating func some<Element>(_ most: Int, _ make: (inout ScriptDice) -> Element) -> [Element] {
    (0..<(1 + roll(most))).map { _ in make(&self) }
  }

  /// Near now, now and then far off.
  mutating func time() -> String {
    let off = pick([0, 0, 1, -1, 500, -500, 60_000, -60_000, -3_600_000, 90_000_000])
    return "\(now + Int64(off))"
  }

  mutating func user() -> String { pick(["ann", "bob", "cy", "dee"]) }
  mutating func streamer() -> String { pick(["s1", "s2"]) }
  mutating func event() -> String { pick(["e1", "e2", "e3"]) }
  mutating func token() -> String { pick(["00aa", "00bb", "ffee", "abcdef01"]) }
  mutating func owner() -> String { pick(["w1/0", "w2/0", "w2/1", ""]) }
  mutating func segment() -> String { pick(["0", "1", "2", "0~1", "1~1", "plan", "event"]) }
  mutating func seconds() -> String { pick(["600", "60", "604800", "1"]) }
  mutating func count() -> String { "\(roll(12))" }

  mutating func member() -> String {
    let environment = pick(["production", "sandbox"])
    return "apns:\(environment):\(pick(["com.a", "com.b"])):\(token())"
  }

  func userKeys(_ user: String, _ names: [String]) -> [String] {
    names.map { "ffd:{u:\(user)}:\($0)" }
  }

  mutating func tokenKeys() -> [String] {
    let key = "ffd:{t:\(token())}"
    return [key, key + ":moves"]
  }

  func eventKeys(_ event: String) -> [String] {
    let key = "ffd:{e:\(event)}"
    return [key]
      + ["settled", "claims", "stragglers", "receipts", "dead", "sums"].map { "\(key):\($0)" }
  }

  /// What all scripts on an event take: see `event.lua`.
  mutating func ofEvent(
    keys: [String] = [],
    _ arguments: (inout ScriptDice) -> (arguments: ScriptArguments, list: [String])
  ) -> ScriptCase.Call {
    let event = event()
    let common: ScriptArguments = [
      "now": "\(now)", "id": event, "streamer": streamer(), "template": pick(["live", "soon"]),
      "lifetime_seconds": seconds(),
    ]
    let own = arguments(&self)
    return ScriptCase.Call(
      keys: eventKeys(event) + keys.map { "ffd:{e:\(event)}:\($0)" },
      arguments: common + own.arguments, list: own.list)
  }

  mutating func counters() -> [String] {
    let names = ["accepted", "rejected:Unregistered", "rejected:BadDeviceToken", "expired"]
    let pairs = some(3) { [$0.pick(names), $0.count()] }
    return Array(pairs.joined())
  }

  /// What `notes.lua` takes, for one key of notes at a position in KEYS.
  mutating func notes(key: Int) -> (arguments: ScriptArguments, list: [String]) {
    guard chance(60) else { return ([:], []) }
    let entries = some(3) { dice -> [String] in
      let notes = dice.some(3) { "\($0.roll(4)):\($0.pick(["", "a:1", "b:2"]))" }
      return ["\(key)", dice.user(), notes.joined(separator: " ")]
    }
    return (
      ["notes_maximum": pick(["3", "100"]), "notes_omitted": pick(["0", "2"])],
      Array(entries.joined())
    )
  }
}
