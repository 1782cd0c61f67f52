/// Commands that run scripts, and what a script's `redis.call` comes to.
enum ScriptCommands {
  static let all: [KnownCommand] = [
    KnownCommand(name: "eval", arity: -3, isForScripts: false) { store, call throws(CommandError) in
      let parameters = try ScriptParameters(call)
      return try store.runScript(try store.load(call[1]), parameters, call)
    },
    KnownCommand(
      name: "evalsha", arity: -3, isForScripts: false
    ) { store, call throws(CommandError) in
      let parameters = try ScriptParameters(call)
      let digest = call[1].lowercased
      guard store.scripts[digest] != nil else {
        throw CommandError("NOSCRIPT No matching script. Please use EVAL.")
      }
      return try store.runScript(digest, parameters, call)
    },
    KnownCommand(
      name: "script", arity: -2, isForScripts: false,
      subcommands: ["load": 3, "exists": -3, "flush": -2, "kill": 2]
    ) { store, call throws(CommandError) in
      switch call.word(1) {
      case "load": return .bulk(try store.load(call[2]))
      case "exists":
        return .array(
          call.words.dropFirst(2).map { .flag(store.scripts[$0.lowercased] != nil) })
      case "flush":
        guard call.count == 2 || call.count == 3 && ["async", "sync"].contains(call.word(2))
        else { throw CommandError("ERR SCRIPT FLUSH only support SYNC|ASYNC option") }
        store.forgetScripts()
        return .ok
      default: throw CommandError("NOTBUSY No scripts in execution right now.")
      }
    },
  ]
}

/// A script's KEYS and ARGV.
struct ScriptParameters {
  let keys: ArraySlice<ByteString>
  let arguments: ArraySlice<ByteString>

  fileprivate init(_ call: CommandCall) throws(CommandError) {
    let count = try call.integer(2)
    guard count <= call.count - 3 else {
      throw CommandError("ERR Number of keys can't be greater than number of args")
    }
    guard count >= 0 else { throw CommandError("ERR Number of keys can't be negative") }
    keys = call.words[3..<(3 + Int(count))]
    arguments = call.words[(3 + Int(count))...]
  }
}

/// A script that runs.
struct RunningScript {
  let access: RedisAccess
  /// Memory that is used up no longer stops it.
  var hasWritten = false
}

extension RedisStore {
  /// - Returns: the script's digest.
  fileprivate func load(_ source: ByteString) throws(CommandError) -> ByteString {
    let digest = digests[source] ?? SHA1.hexadecimal(source.bytes)
    digests[source] = digest
    if scripts[digest] == nil {
      try engine.compile(source, digest)
      scripts[digest] = source
    }
    return digest
  }

  fileprivate func runScript(
    _ digest: ByteString, _ parameters: ScriptParameters, _ call: CommandCall
  ) throws(CommandError) -> StoreReply {
    running = RunningScript(access: call.access)
    defer { running = nil }
    return try engine.run(digest, parameters)
  }

  /// What `redis.call` and `redis.pcall` do.
  func callFromScript(_ words: [ByteString]) throws(CommandError) -> StoreReply {
    guard let known = CommandTable[words[0]] else {
      throw CommandError("ERR Unknown Redis command called from script")
    }
    guard known.takes(words.count) else {
      throw CommandError("ERR Wrong number of args calling Redis command from script")
    }
    guard known.isForScripts else {
      throw CommandError("ERR This Redis command is not allowed from script")
    }
    let access = running?.access ?? RedisAccess()
    guard !access.denies(known, words) else {
      throw CommandError(
        "ERR The user executing the script can't run this command or subcommand")
    }
    if known.writes {
      if isReplica { throw .readOnly }
      let isFull = isOutOfMemory && running?.hasWritten != true
      if isFull, known.takesMemory { throw .outOfMemory }
      running?.hasWritten = true
    }
    return try run(known, CommandCall(words, access))
  }

  /// What `redis.acl_check_cmd` answers; nil: there is no such command.
  func mayRun(_ words: [ByteString]) -> Bool? {
    guard let known = CommandTable[words[0]] else { return nil }
    return running.map { !$0.access.denies(known, words) } ?? true
  }
}
