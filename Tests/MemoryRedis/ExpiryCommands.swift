/// Commands on when keys end.
enum ExpiryCommands {
  static let all: [KnownCommand] = [
    CommandTable.write("expire", -3) { store, call throws(CommandError) in
      try store.expire(call, "expire", unit: 1000, from: store.milliseconds)
    },
    CommandTable.write("pexpire", -3) { store, call throws(CommandError) in
      try store.expire(call, "pexpire", unit: 1, from: store.milliseconds)
    },
    CommandTable.write("expireat", -3) { store, call throws(CommandError) in
      try store.expire(call, "expireat", unit: 1000, from: 0)
    },
    CommandTable.write("pexpireat", -3) { store, call throws(CommandError) in
      try store.expire(call, "pexpireat", unit: 1, from: 0)
    },
    CommandTable.write("persist", 2) { $0.persist($1[1]) },
    CommandTable.read("ttl", 2) { .integer($0.timeLeft($1[1], rounding: 500, unit: 1000)) },
    CommandTable.read("pttl", 2) { .integer($0.timeLeft($1[1], rounding: 0, unit: 1)) },
  ]
}

/// When an end that is there already may be changed.
private struct ExpiryCondition {
  var isNew = false
  var isKnown = false
  var isLater = false
  var isEarlier = false

  init(_ words: ArraySlice<ByteString>) throws(CommandError) {
    for word in words {
      switch word.lowercased {
      case "nx": isNew = true
      case "xx": isKnown = true
      case "gt": isLater = true
      case "lt": isEarlier = true
      default: throw CommandError("ERR Unsupported option \(word.text)")
      }
    }
    if isNew, isKnown || isLater || isEarlier {
      throw CommandError(
        "ERR NX and XX, GT or LT options at the same time are not compatible")
    }
    if isLater, isEarlier {
      throw CommandError("ERR GT and LT options at the same time are not compatible")
    }
  }

  func allows(_ end: Int64, instead known: Int64?) -> Bool {
    if isNew, known != nil { return false }
    if isKnown, known == nil { return false }
    if isLater { return known.map { end > $0 } ?? false }
    if isEarlier { return known.map { end < $0 } ?? true }
    return true
  }
}

extension RedisStore {
  fileprivate func expire(
    _ call: CommandCall, _ name: String, unit: Int64, from start: Int64
  ) throws(CommandError) -> StoreReply {
    let condition = try ExpiryCondition(call.words.dropFirst(3))
    let (time, isOver) = try call.integer(2).multipliedReportingOverflow(by: unit)
    guard !isOver, time <= Int64.max - start else { throw .expireTime(name) }
    let end = time + start
    let key = call[1]
    guard let position = position(of: key),
      condition.allows(end, instead: keys[position: position].expiresAt)
    else { return .integer(0) }
    changes += 1
    if end <= milliseconds, !isReplica {
      keys.remove(key)
      rewritten = ["DEL", key]
    } else {
      keys[position: position].expiresAt = end
      rewritten = ["PEXPIREAT", key, ByteString(end)]
    }
    return .integer(1)
  }

  fileprivate func persist(_ key: ByteString) -> StoreReply {
    guard let position = position(of: key), keys[position: position].expiresAt != nil else {
      return .integer(0)
    }
    keys[position: position].expiresAt = nil
    changes += 1
    return .integer(1)
  }

  fileprivate func timeLeft(_ key: ByteString, rounding: Int64, unit: Int64) -> Int64 {
    guard let position = position(of: key) else { return -2 }
    guard let end = keys[position: position].expiresAt else { return -1 }
    return (max(end - milliseconds, 0) + rounding) / unit
  }
}
