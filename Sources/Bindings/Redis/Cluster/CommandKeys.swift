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

  static func position(in name: UnsafeRawBufferPointer) -> Position {
    guard byLength.indices.contains(name.count) else { return .argument(1) }
    let found = byLength[name.count].first { known in
      // Letters differ from their lower case in this bit; no other byte of a name has it.
      zip(known.name, name).allSatisfy { $0 == $1 & ~0x20 || $0 == $1 }
    }
    return found?.position ?? .argument(1)
  }
}
