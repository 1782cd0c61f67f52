/// A command that Redis knows: how many words it has, and what it may do.
final class KnownCommand: Sendable {
  typealias Body = @Sendable (RedisStore, CommandCall) throws(CommandError) -> StoreReply

  /// In small letters.
  let name: String
  /// Words with the name; less than 0: at least as many.
  let arity: Int
  let writes: Bool
  /// Refused when memory is used up.
  let takesMemory: Bool
  let isForScripts: Bool
  let runsWhileLoading: Bool
  /// Of a family like `script|load`; empty for others.
  let subcommands: [String: Int]
  let run: Body

  init(
    name: String, arity: Int, writes: Bool = false, takesMemory: Bool = false,
    isForScripts: Bool = true, runsWhileLoading: Bool = false, subcommands: [String: Int] = [:],
    run: @escaping Body
  ) {
    self.name = name
    self.arity = arity
    self.writes = writes
    self.takesMemory = takesMemory
    self.isForScripts = isForScripts
    self.runsWhileLoading = runsWhileLoading
    self.subcommands = subcommands
    self.run = run
  }

  func takes(_ count: Int) -> Bool { Self.takes(count, arity) }

  private static func takes(_ count: Int, _ arity: Int) -> Bool {
    arity < 0 ? count >= -arity : count == arity
  }

  /// - Returns: the full name, `script|load` of a family.
  func check(_ words: [ByteString]) throws(CommandError) {
    guard takes(words.count) else { throw .arity(name) }
    guard !subcommands.isEmpty, words.count > 1 else { return }
    guard let arity = subcommands[words[1].lowercased.text] else {
      throw CommandError(
        "ERR unknown subcommand '\(words[1].text)'. Try \(name.uppercased()) HELP.")
    }
    guard Self.takes(words.count, arity) else { throw .arity(fullName(words)) }
  }

  func fullName(_ words: [ByteString]) -> String {
    subcommands.isEmpty || words.count < 2 ? name : "\(name)|\(words[1].lowercased.text)"
  }
}

enum CommandTable {
  static let all: [ByteString: KnownCommand] = {
    var table: [ByteString: KnownCommand] = [:]
    let groups = [
      KeyCommands.all, ExpiryCommands.all, StringCommands.all, HashCommands.all, SetCommands.all,
      SortedSetCommands.all, StreamCommands.all, ScanCommands.all, ScriptCommands.all,
      ServerCommands.all,
    ]
    // In capitals, too, as nearly all who ask write it.
    for command in groups.joined() {
      table[ByteString(command.name)] = command
      table[ByteString(command.name.uppercased())] = command
    }
    return table
  }()

  static subscript(name: ByteString) -> KnownCommand? { all[name] ?? all[name.lowercased] }

  /// The command whose words these are.
  static func find(_ words: [ByteString]) throws(CommandError) -> KnownCommand {
    guard let first = words.first, let known = self[first] else { throw unknown(words) }
    try known.check(words)
    return known
  }

  private static func unknown(_ words: [ByteString]) -> CommandError {
    var arguments: [UInt8] = []
    for word in words.dropFirst() where arguments.count < 128 {
      arguments += Array("'".utf8) + word.bytes.prefix(128 - arguments.count) + Array("' ".utf8)
    }
    let name = (words.first?.bytes ?? []).prefix(128)
    return CommandError(
      ByteString(
        Array("ERR unknown command '".utf8) + name
          + Array("', with args beginning with: ".utf8) + arguments))
  }

  static func read(
    _ name: String, _ arity: Int, _ run: @escaping KnownCommand.Body
  ) -> KnownCommand {
    KnownCommand(name: name, arity: arity, run: run)
  }

  /// Writes, and takes no memory.
  static func write(
    _ name: String, _ arity: Int, _ run: @escaping KnownCommand.Body
  ) -> KnownCommand {
    KnownCommand(name: name, arity: arity, writes: true, run: run)
  }

  /// Writes what takes memory.
  static func add(
    _ name: String, _ arity: Int, _ run: @escaping KnownCommand.Body
  ) -> KnownCommand {
    KnownCommand(name: name, arity: arity, writes: true, takesMemory: true, run: run)
  }
}
