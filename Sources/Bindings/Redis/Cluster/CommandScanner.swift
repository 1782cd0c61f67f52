/// Finds commands and their keys in what a pipeline sends. Read only when there is a cluster, or
/// when a key holds another type: who talks to one Redis pays nothing for it.
struct CommandScanner {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// Nil: these are no commands as `RedisPipeline` formats them.
  static func commands(of pipeline: RedisPipeline) -> [ScannedCommand]? {
    var scanner = CommandScanner(pipeline.bytes)
    var found: [(bytes: Range<Int>, slot: Int?)] = []
    found.reserveCapacity(pipeline.count)
    while scanner.position < scanner.bytes.count {
      guard let command = scanner.next() else { return nil }
      found.append(command)
    }
    guard found.count == pipeline.count else { return nil }
    return led(found)
  }

  /// The arguments of one command, its name first.
  static func words(of pipeline: RedisPipeline, at range: Range<Int>) -> [String] {
    var scanner = CommandScanner(UnsafeRawBufferPointer(rebasing: pipeline.bytes[range]))
    var words: [String] = []
    guard scanner.length(after: UInt8(ascii: "*")) != nil else { return words }
    while let word = scanner.argument() { words.append(String(decoding: word, as: UTF8.self)) }
    return words
  }

  /// A command without a key goes with the one before it, or, at the beginning, with the first that
  /// has one.
  private static func led(_ found: [(bytes: Range<Int>, slot: Int?)]) -> [ScannedCommand] {
    var leader = found.firstIndex { $0.slot != nil } ?? 0
    return found.enumerated().map { index, command in
      if command.slot != nil { leader = index }
      return ScannedCommand(bytes: command.bytes, slot: found[leader].slot, leader: leader)
    }
  }

  private mutating func next() -> (bytes: Range<Int>, slot: Int?)? {
    let start = position
    guard let count = length(after: UInt8(ascii: "*")), count > 0, let name = argument() else {
      return nil
    }
    var key: UnsafeRawBufferPointer?
    var keyPosition = CommandKeys.position(in: name)
    for index in 1..<max(count, 1) {
      guard let argument = argument() else { return nil }
      switch keyPosition {
      case .argument(index): key = argument
      case .counted(at: index):
        keyPosition = argument.elementsEqual([UInt8(ascii: "0")]) ? .none : .argument(index + 1)
      case .none, .argument, .counted: break
      }
    }
    return (start..<position, key.map { RedisSlot($0).number })
  }

  private mutating func argument() -> UnsafeRawBufferPointer? {
    guard let length = length(after: UInt8(ascii: "$")), length <= bytes.count - position - 2 else {
      return nil
    }
    defer { position += length + 2 }
    return UnsafeRawBufferPointer(rebasing: bytes[position..<position + length])
  }

  /// A mark, a decimal and a line end.
  private mutating func length(after mark: UInt8) -> Int? {
    guard position < bytes.count, bytes[position] == mark else { return nil }
    var value = 0
    position += 1
    while position < bytes.count, bytes[position] != UInt8(ascii: "\r") {
      guard value < 1 << 32 else { return nil }
      value = value * 10 + Int(bytes[position] &- UInt8(ascii: "0"))
      position += 1
    }
    position += 2
    return position <= bytes.count ? value : nil
  }
}

/// Which argument of a command is its (first) key. Commands with several keys want them in one
/// slot, so that the first says where all of them are.
enum CommandKeys {
  enum Position: Sendable, Equatable {
    case none
    /// Arguments are counted from the command's name, which is 0.
    case argument(Int)
    /// The argument before the keys says how many there are, perhaps none.
    case counted(at: Int)
  }

  /// Anything that is not here has its key behind its name.
  private static let exceptions: [(position: Position, names: [String])] = [
    (
      .none,
      [
        "PING", "ECHO", "TIME", "INFO", "ROLE", "SCRIPT", "ACL", "CONFIG", "CLIENT", "CLUSTER",
        "COMMAND", "SCAN", "KEYS", "RANDOMKEY", "DBSIZE", "SAVE", "BGSAVE", "LASTSAVE", "WAIT",
        "FLUSHALL", "FLUSHDB", "FUNCTION", "LATENCY", "SLOWLOG", "MODULE", "DEBUG", "AUTH",
        "HELLO", "SELECT", "ASKING", "READONLY", "READWRITE", "PUBLISH", "SHUTDOWN", "REPLICAOF",
      ]
    ),
    (.counted(at: 2), ["EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO"]),
    (
      .counted(at: 1),
      ["LMPOP", "ZMPOP", "SINTERCARD", "ZINTERCARD", "ZUNION", "ZINTER", "ZDIFF"]
    ),
    (.argument(2), ["OBJECT", "MEMORY", "XINFO", "XGROUP", "BITOP"]),
  ]

  /// By the length of the name, since most names are told apart by it.
  private static let byLength: [[(name: [UInt8], position: Position)]] = {
    var table: [[(name: [UInt8], position: Position)]] = []
    for (position, names) in exceptions {
      for name in names.map({ Array($0.utf8) }) {
        while table.count <= name.count { table.append([]) }
        table[name.count].append((name, position))
      }
    }
    return table
  }()

  /// All keys of a script, or else the first one.
  static func keys(of words: [String]) -> [String] {
    guard var name = words.first else { return [] }
    switch name.withUTF8({ position(in: UnsafeRawBufferPointer($0)) }) {
    case .none: return []
    case .argument(let index): return Array(words.dropFirst(index).prefix(1))
    case .counted(let index):
      let count = words.dropFirst(index).first.flatMap { Int($0) } ?? 0
      return Array(words.dropFirst(index + 1).prefix(max(0, count)))
    }
  }

  static func position(in name: UnsafeRawBufferPointer) -> Position {
    guard byLength.indices.contains(name.count) else { return .argument(1) }
    let found = byLength[name.count].first { known in
      // Letters differ from their lower case in this bit; no other byte of a name has it.
      zip(known.name, name).allSatisfy { $0 == $1 & ~0x20 || $0 == $1 }
    }
    return found?.position ?? .argument(1)
  }
}

/// One command of a pipeline, for who divides it among nodes.
struct ScannedCommand: Equatable {
  /// Its bytes in the pipeline.
  let bytes: Range<Int>
  /// Nil: no command of the pipeline has a key.
  let slot: Int?
  /// The command whose key gave the slot, itself or a neighbour: INFO behind SSCAN says which
  /// process has answered the SSCAN, and must go wherever that goes.
  let leader: Int
}
