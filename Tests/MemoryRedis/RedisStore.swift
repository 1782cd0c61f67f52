/// Redis 7.0 without a network: keys and values, and the commands on them that Fanfare and its
/// tests use, with the replies and the words of a real server. Single-threaded, without a clock,
/// without randomness: the same commands at the same times give the same replies.
///
/// Where Redis leaves an order open (KEYS, SCAN, SMEMBERS, SSCAN, HGETALL of a large hash) it is
/// the order of insertion here, and SRANDMEMBER answers the oldest members.
package final class RedisStore {
  var keys = EntryTable()
  /// Microseconds since 1970, of the command that is being done.
  package internal(set) var now: Int64 = 0
  /// Changes since the beginning; a command that leaves it alone has written nothing.
  var changes = 0
  /// What the running command is for replicas, where it is not what was asked for: a time that is
  /// absolute, an identifier that was given out.
  var rewritten: [ByteString]?
  /// Write commands that a replica has to do for the same data, in order.
  private(set) var effects: [[ByteString]] = []
  /// A master's: keys that have ended go when somebody looks at them. A replica leaves them to its
  /// master, and only says that they are not there.
  package var isReplica = false
  /// The master's commands are being done, which know nothing of ended keys.
  private var isApplying = false
  /// Commands that take memory are refused.
  package var isOutOfMemory = false
  /// Sources by their digests.
  var scripts: [ByteString: ByteString] = [:]
  /// Digests by their sources: each client loads the same ones.
  var digests: [ByteString: ByteString] = [:]
  /// While a script runs.
  var running: RunningScript?
  /// While a command of one of its sessions is done.
  weak var server: (any ServerAnswers)?
  lazy var engine = ScriptEngine(self)

  package init() {}

  package var image: StoreImage {
    get {
      var image = StoreImage()
      image.keys = keys
      return image
    }
    set { keys = newValue.keys }
  }

  /// Lets images share what it holds now, instead of a copy each as soon as something changes.
  package func freeze() { keys.freeze() }

  /// Forgets the scripts, as a process that starts does.
  package func forgetScripts() {
    scripts = [:]
    engine = ScriptEngine(self)
  }

  // MARK: commands

  /// - Parameter now: microseconds since 1970, for all that the command and its script do.
  package func execute(
    _ command: [ByteString], now: Int64, access: RedisAccess = RedisAccess()
  ) -> StoreReply {
    self.now = now
    do throws(CommandError) {
      let known = try admit(command, access)
      return try run(known, CommandCall(command, access))
    } catch {
      return .error(error.text)
    }
  }

  /// The command, unless it is refused; in the order in which Redis looks.
  func admit(_ command: [ByteString], _ access: RedisAccess) throws(CommandError) -> KnownCommand {
    let known = try CommandTable.find(command)
    guard access.isAuthenticated || known.name == "auth" else { throw .notAuthenticated }
    guard !access.denies(known, command) else {
      throw CommandError(
        "NOPERM this user has no permissions to run the '\(known.fullName(command))' command")
    }
    if isOutOfMemory, known.takesMemory { throw .outOfMemory }
    if isReplica, known.writes { throw .readOnly }
    if access.isLoading, !known.runsWhileLoading { throw .loading }
    return known
  }

  package func execute(_ command: [[UInt8]], now: Int64) -> StoreReply {
    execute(command.map { ByteString($0) }, now: now)
  }

  /// What SISMEMBER and HGET answer, for whoever asks so often that a command costs too much.
  package func isMember(_ member: ByteString, of key: ByteString, now: Int64) -> Bool {
    self.now = now
    guard case .set(let set) = value(key) else { return false }
    return set.position(of: member) != nil
  }

  package func field(_ field: ByteString, of key: ByteString, now: Int64) -> ByteString? {
    self.now = now
    guard case .hash(let hash) = value(key) else { return nil }
    return hash[field]
  }

  /// What replicas have to do for what was done since the last call.
  package func takeEffects() -> [[ByteString]] {
    defer { effects = [] }
    return effects
  }

  /// Does what a master has done.
  package func apply(_ commands: [[ByteString]], now: Int64) {
    self.now = now
    isApplying = true
    defer {
      isApplying = false
      effects = []
    }
    for command in commands {
      guard let known = try? CommandTable.find(command) else { continue }
      _ = try? run(known, CommandCall(command, RedisAccess()))
    }
  }

  /// Without asking whether it may be done.
  func run(_ known: KnownCommand, _ call: CommandCall) throws(CommandError) -> StoreReply {
    guard known.writes else { return try known.run(self, call) }
    let before = changes
    rewritten = nil
    let reply = try known.run(self, call)
    if changes != before { effects.append(rewritten ?? call.words) }
    rewritten = nil
    return reply
  }

  // MARK: keys

  var milliseconds: Int64 { now / 1000 }

  /// Where the key is, if it is there and has not ended.
  func position(of key: ByteString) -> Int? {
    guard let position = keys.position(of: key) else { return nil }
    guard hasEnded(keys.expiry(at: position)) else { return position }
    guard !isReplica else { return nil }
    keys.remove(key)
    changes += 1
    effects.append(["DEL", key])
    return nil
  }

  func hasEnded(_ expiry: Int64?) -> Bool {
    expiry.map { milliseconds > $0 && !isApplying } ?? false
  }

  func value(_ key: ByteString) -> StoreValue? {
    position(of: key).map { keys[position: $0].value }
  }

  /// In the order of insertion, without those that have ended.
  package var names: [ByteString] { names { _ in true } }

  /// Those of them that are wanted.
  package func names(where isWanted: (ByteString) -> Bool) -> [ByteString] {
    keys.names { isWanted($0) && !hasEnded(keys.expiry(at: $1)) }
  }

  /// Takes away all keys that have ended.
  func removeEnded() {
    for key in keys.names(where: { _, _ in true }) { _ = position(of: key) }
  }

  /// A new value without an end, whatever was there.
  func replace(_ key: ByteString, _ value: StoreValue) {
    if let position = keys.position(of: key) {
      keys[position: position] = StoreEntry(value: value)
    } else {
      keys.set(key, StoreEntry(value: value))
    }
  }

  /// Changes what a key holds in place. What is `none` behind it is taken away.
  func change<Result>(
    at position: Int, _ key: ByteString, _ body: (inout StoreValue) -> Result
  ) -> Result {
    var value = keys[position: position].value
    keys[position: position].value = .none
    let result = body(&value)
    if case .none = value { keys.remove(key) } else { keys[position: position].value = value }
    return result
  }
}

/// What whoever asks may do.
package struct RedisAccess: Sendable {
  /// Commands that the user may not run, in small letters; `script|load` for one of a family.
  package var denied: Set<ByteString> = []
  /// A password that is wanted was given.
  package var isAuthenticated = true
  /// The server still reads its data set.
  package var isLoading = false

  package init() {}

  func denies(_ known: KnownCommand, _ words: [ByteString]) -> Bool {
    guard !denied.isEmpty else { return false }
    return denied.contains(ByteString(known.name))
      || denied.contains(ByteString(known.fullName(words)))
  }
}

/// Answers what is no matter of keys: which server this is, and who is connected.
protocol ServerAnswers: AnyObject {
  func answer(_ call: CommandCall) throws(CommandError) -> StoreReply
}

/// A command on its way, with who asks.
struct CommandCall {
  let words: [ByteString]
  let access: RedisAccess

  init(_ words: [ByteString], _ access: RedisAccess) {
    self.words = words
    self.access = access
  }

  var count: Int { words.count }

  subscript(index: Int) -> ByteString { words[index] }

  func integer(_ index: Int) throws(CommandError) -> Int64 {
    guard let value = words[index].integer else { throw .notAnInteger }
    return value
  }

  /// In small letters, for words of a command.
  func word(_ index: Int) -> ByteString { words[index].lowercased }
}
