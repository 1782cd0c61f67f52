import CLua

/// Runs scripts on Lua 5.1, as Redis 7.0 does: the same code around them, the same conversions, and
/// errors that name the script and its line in the same words.
final class ScriptEngine {
  private unowned let store: RedisStore
  private let state: OpaquePointer
  /// In Lua's registry.
  private var functions: [ByteString: Int32] = [:]
  private var handler: Int32 = 0
  private var globals: Int32 = 0

  /// As in Redis, where errors have it as the script's name.
  private static let chunkName = "@user_script"

  init(_ store: RedisStore) {
    self.store = store
    guard let state = luaL_newstate() else { preconditionFailure("no memory for Lua") }
    self.state = state
    clua_open_libraries(state)
    clua_open_bit(state)
    openPrelude()
  }

  deinit { lua_close(state) }

  private func openPrelude() {
    let context = Unmanaged.passUnretained(self).toOpaque()
    precondition(load(Array(ScriptPrelude.source.utf8), "=prelude") == 0, text(at: -1).text)
    clua_push(state, { context, _ in ScriptEngine.at(context)?.call(raises: true) ?? 0 }, context)
    clua_push(state, { context, _ in ScriptEngine.at(context)?.call(raises: false) ?? 0 }, context)
    clua_push(state, { context, _ in ScriptEngine.at(context)?.digest() ?? 0 }, context)
    clua_push(state, { context, _ in ScriptEngine.at(context)?.checkPermission() ?? 0 }, context)
    lua_pushlightuserdata(state, nil)
    precondition(lua_pcall(state, 5, 2, 0) == 0, text(at: -1).text)
    globals = luaL_ref(state, clua_registry())
    handler = luaL_ref(state, clua_registry())
  }

  private static func at(_ context: UnsafeMutableRawPointer?) -> ScriptEngine? {
    context.map { Unmanaged<ScriptEngine>.fromOpaque($0).takeUnretainedValue() }
  }

  private func load(_ source: [UInt8], _ name: String) -> Int32 {
    source.withUnsafeBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) {
        luaL_loadbuffer(state, $0.baseAddress, $0.count, name)
      }
    }
  }

  // MARK: scripts

  func compile(_ source: ByteString, _ digest: ByteString) throws(CommandError) {
    defer { lua_settop(state, 0) }
    guard load(source.bytes, Self.chunkName) == 0 else {
      throw CommandError(
        ByteString(
          Array("ERR Error compiling script (new function): ".utf8) + text(at: -1).bytes))
    }
    lua_rawgeti(state, clua_registry(), globals)
    lua_setfenv(state, 1)
    functions[digest] = luaL_ref(state, clua_registry())
  }

  func run(
    _ digest: ByteString, _ parameters: ScriptParameters
  ) throws(CommandError) -> StoreReply {
    if functions[digest] == nil, let source = store.scripts[digest] {
      try compile(source, digest)
    }
    guard let function = functions[digest] else {
      throw CommandError("NOSCRIPT No matching script. Please use EVAL.")
    }
    defer { lua_settop(state, 0) }
    set("KEYS", parameters.keys)
    set("ARGV", parameters.arguments)
    lua_rawgeti(state, clua_registry(), handler)
    lua_rawgeti(state, clua_registry(), function)
    guard lua_pcall(state, 0, 1, 1) == 0 else { throw failure(digest) }
    return reply(at: lua_gettop(state))
  }

  private func set(_ name: String, _ values: ArraySlice<ByteString>) {
    lua_createtable(state, Int32(values.count), 0)
    for (index, value) in values.enumerated() {
      push(value)
      lua_rawseti(state, -2, Int32(index + 1))
    }
    lua_setfield(state, clua_globals(), name)
  }

  private func failure(_ digest: ByteString) -> CommandError {
    guard lua_type(state, -1) == LUA_TTABLE else {
      return CommandError("ERR Error running script f_\(digest.text), \(text(at: -1).text)")
    }
    let problem = field("err", at: lua_gettop(state)) ?? "ERR unknown error"
    guard let source = field("source", at: lua_gettop(state)),
      let line = field("line", at: lua_gettop(state))
    else { return CommandError(problem) }
    let place = " script: \(digest.text), on \(source.text):\(line.text)."
    return CommandError(ByteString(problem.bytes + Array(place.utf8)))
  }

  // MARK: what scripts call

  private func call(raises: Bool) -> Int32 {
    do throws(CommandError) {
      let reply = try store.callFromScript(try arguments())
      lua_settop(state, 0)
      push(reply)
      return raises && reply.isError ? -1 : 1
    } catch {
      push(.error(error.text))
      return raises ? -1 : 1
    }
  }

  private func checkPermission() -> Int32 {
    do throws(CommandError) {
      guard let mayRun = store.mayRun(try arguments()) else {
        throw CommandError("ERR Invalid command passed to redis.acl_check_cmd()")
      }
      lua_pushboolean(state, mayRun ? 1 : 0)
      return 1
    } catch {
      push(.error(error.text))
      return -1
    }
  }

  private func digest() -> Int32 {
    guard lua_gettop(state) == 1 else {
      push(.error("ERR wrong number of arguments"))
      return -1
    }
    push(SHA1.hexadecimal(text(at: 1).bytes))
    return 1
  }

  private func arguments() throws(CommandError) -> [ByteString] {
    let count = lua_gettop(state)
    guard count > 0 else {
      throw CommandError("ERR Please specify at least one argument for this redis lib call")
    }
    var words: [ByteString] = []
    words.reserveCapacity(Int(count))
    for index in 1...count {
      switch lua_type(state, index) {
      case LUA_TNUMBER: words.append(Self.text(of: lua_tonumber(state, index)))
      case LUA_TSTRING: words.append(text(at: index))
      default:
        throw CommandError("ERR Lua redis lib command arguments must be strings or integers")
      }
    }
    return words
  }

  private static func text(of number: Double) -> ByteString {
    if let whole = Int64(exactly: number), abs(number) < 1e15, number != 0 {
      return ByteString(whole)
    }
    return SortedSetCommands.scoreText(number)
  }

  // MARK: values

  private func push(_ string: ByteString) {
    string.bytes.withUnsafeBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) {
        lua_pushlstring(state, $0.baseAddress ?? UnsafePointer(bitPattern: 1), $0.count)
      }
    }
  }

  private func push(_ reply: StoreReply) {
    lua_checkstack(state, 8)
    switch reply {
    case .status(let text): push(text, as: "ok")
    case .error(let text): push(text, as: "err")
    case .integer(let number): lua_pushnumber(state, Double(number))
    case .bulk(let string): push(string)
    case .null, .nullArray: lua_pushboolean(state, 0)
    case .array(let replies):
      lua_createtable(state, Int32(replies.count), 0)
      for (index, reply) in replies.enumerated() {
        push(reply)
        lua_rawseti(state, -2, Int32(index + 1))
      }
    }
  }

  private func push(_ text: ByteString, as name: String) {
    lua_createtable(state, 0, 1)
    push(text)
    lua_setfield(state, -2, name)
  }

  private func text(at index: Int32) -> ByteString {
    var length = 0
    guard let start = lua_tolstring(state, index, &length) else { return "" }
    let bytes = UnsafeRawBufferPointer(start: start, count: length)
    return ByteString(Array(bytes))
  }

  /// A string or number; nil for everything else.
  private func field(_ name: String, at index: Int32) -> ByteString? {
    lua_pushstring(state, name)
    lua_rawget(state, index)
    defer { clua_pop(state, 1) }
    return lua_isstring(state, -1) == 1 ? text(at: -1) : nil
  }

  /// What a script's value is as a reply: numbers lose their fraction, false is null, and an array
  /// ends at its first nil.
  private func reply(at index: Int32) -> StoreReply {
    switch lua_type(state, index) {
    case LUA_TSTRING: return .bulk(text(at: index))
    case LUA_TBOOLEAN: return lua_toboolean(state, index) == 1 ? .integer(1) : .null
    case LUA_TNUMBER: return .integer(Self.whole(lua_tonumber(state, index)))
    case LUA_TTABLE: break
    default: return .null
    }
    lua_checkstack(state, 8)
    if let problem = field("err", at: index) { return .error(problem) }
    if let status = field("ok", at: index) { return .status(status) }
    var replies: [StoreReply] = []
    while true {
      lua_rawgeti(state, index, Int32(replies.count + 1))
      defer { clua_pop(state, 1) }
      guard lua_type(state, -1) != LUA_TNIL else { return .array(replies) }
      replies.append(reply(at: lua_gettop(state)))
    }
  }

  /// As a cast in C on x86-64: what is too large is the smallest number.
  private static func whole(_ number: Double) -> Int64 {
    Int64(exactly: number.rounded(.towardZero)) ?? .min
  }
}
