/// Commands on strings.
enum StringCommands {
  static let all: [KnownCommand] = [
    CommandTable.read("get", 2) { store, call throws(CommandError) in
      .optional(try store.string(call[1]))
    },
    CommandTable.read("mget", -2) { store, call in
      .array(
        call.words.dropFirst().map {
          if case .string(let text) = store.value($0) { .bulk(text) } else { .null }
        })
    },
    CommandTable.read("strlen", 2) { store, call throws(CommandError) in
      .integer(Int64(try store.string(call[1])?.count ?? 0))
    },
    CommandTable.add("set", -3) { store, call throws(CommandError) in try store.set(call) },
    CommandTable.add("setnx", 3) { store, call in
      guard store.position(of: call[1]) == nil else { return .integer(0) }
      store.replace(call[1], .string(call[2]))
      store.changes += 1
      return .integer(1)
    },
    CommandTable.add("append", 3) { store, call throws(CommandError) in
      let text = ByteString((try store.string(call[1])?.bytes ?? []) + call[2].bytes)
      store.write(call[1], text)
      return .integer(Int64(text.count))
    },
    CommandTable.add("incr", 2) { store, call throws(CommandError) in
      try store.increase(call[1], by: 1)
    },
    CommandTable.add("decr", 2) { store, call throws(CommandError) in
      try store.increase(call[1], by: -1)
    },
    CommandTable.add("incrby", 3) { store, call throws(CommandError) in
      try store.increase(call[1], by: call.integer(2))
    },
  ]
}

/// What stands behind the value in SET.
private struct SetOptions {
  var onlyNew = false
  var onlyKnown = false
  var keepsEnd = false
  var answersOld = false
  private var end: (argument: Int, unit: Int64, isAbsolute: Bool)?

  init(_ call: CommandCall) throws(CommandError) {
    var index = 3
    while index < call.count {
      let word = call.word(index)
      let hasMore = index + 1 < call.count
      switch word {
      case "nx" where !onlyKnown: onlyNew = true
      case "xx" where !onlyNew: onlyKnown = true
      case "get": answersOld = true
      case "keepttl" where end == nil: keepsEnd = true
      case "ex", "px", "exat", "pxat":
        guard end == nil, !keepsEnd, hasMore else { throw .syntax }
        let unit: Int64 = word.bytes[0] == UInt8(ascii: "e") ? 1000 : 1
        end = (index + 1, unit, word.count == 4)
        index += 1
      default: throw .syntax
      }
      index += 1
    }
  }

  /// Ms since 1970; nil: the value stays.
  func end(_ call: CommandCall, now: Int64) throws(CommandError) -> Int64? {
    guard let end else { return nil }
    let (time, isOver) = try call.integer(end.argument).multipliedReportingOverflow(by: end.unit)
    let start = end.isAbsolute ? 0 : now
    guard !isOver, time > 0, time <= Int64.max - start else { throw .expireTime("set") }
    return time + start
  }
}

extension RedisStore {
  /// Nil: there is no such key.
  func string(_ key: ByteString) throws(CommandError) -> ByteString? {
    switch value(key) {
    case .string(let text): text
    case nil: nil
    default: throw .wrongType
    }
  }

  /// Another value that ends when the old one would.
  fileprivate func write(_ key: ByteString, _ text: ByteString) {
    if let position = position(of: key) {
      keys[position: position].value = .string(text)
    } else {
      keys.set(key, StoreEntry(value: .string(text)))
    }
    changes += 1
  }

  fileprivate func set(_ call: CommandCall) throws(CommandError) -> StoreReply {
    let options = try SetOptions(call)
    let end = try options.end(call, now: milliseconds)
    let key = call[1]
    let old = options.answersOld ? try string(key) : nil
    let position = position(of: key)
    if position != nil ? options.onlyNew : options.onlyKnown { return .optional(old) }
    let kept = options.keepsEnd ? position.flatMap { keys[position: $0].expiresAt } : nil
    replace(key, .string(call[2]))
    if let end = end ?? kept, let position = keys.position(of: key) {
      keys[position: position].expiresAt = end
      rewritten = ["SET", key, call[2], "PXAT", ByteString(end)]
    }
    changes += 1
    return options.answersOld ? .optional(old) : .ok
  }

  fileprivate func increase(
    _ key: ByteString, by amount: Int64
  ) throws(CommandError) -> StoreReply {
    let old = try string(key)
    guard let number = old.map(\.integer) ?? 0 else { throw .notAnInteger }
    let (sum, isOver) = number.addingReportingOverflow(amount)
    guard !isOver else { throw .overflow }
    write(key, ByteString(sum))
    return .integer(sum)
  }
}
