/// Commands on sets.
enum SetCommands {
  static let all: [KnownCommand] = [
    CommandTable.add("sadd", -3) { store, call throws(CommandError) in
      .integer(try store.addMembers(call))
    },
    CommandTable.write("srem", -3) { store, call throws(CommandError) in
      .integer(try store.removeMembers(call))
    },
    CommandTable.read("smembers", 2) { store, call throws(CommandError) in
      .strings(try store.members(call[1]))
    },
    CommandTable.read("scard", 2) { store, call throws(CommandError) in
      .integer(Int64(try store.set(call[1])?.count ?? 0))
    },
    CommandTable.read("sismember", 3) { store, call throws(CommandError) in
      .flag(try store.set(call[1])?.position(of: call[2]) != nil)
    },
    CommandTable.read("smismember", -3) { store, call throws(CommandError) in
      let set = try store.set(call[1])
      return .array(call.words.dropFirst(2).map { .flag(set?.position(of: $0) != nil) })
    },
    CommandTable.read("srandmember", -2) { store, call throws(CommandError) in
      try store.someMembers(call)
    },
  ]
}

extension RedisStore {
  /// Nil: there is no such key.
  func set(_ key: ByteString) throws(CommandError) -> OrderedKeys? {
    switch value(key) {
    case .set(let set): set
    case nil: nil
    default: throw .wrongType
    }
  }

  private func members(_ key: ByteString, limit: Int = .max) throws(CommandError) -> [ByteString] {
    try set(key)?.keys(limit: limit) ?? []
  }

  fileprivate func members(_ key: ByteString) throws(CommandError) -> [ByteString] {
    try members(key, limit: .max)
  }

  /// Changes a set; one without members goes. Nil: there is none, and none is made.
  private func changeSet<Result>(
    _ key: ByteString, isMade: Bool, _ body: (inout OrderedKeys) -> Result
  ) throws(CommandError) -> Result? {
    if position(of: key) == nil {
      guard isMade else { return nil }
      keys.set(key, StoreEntry(value: .set(OrderedKeys())))
    }
    guard let position = position(of: key) else { return nil }
    guard case .set = keys[position: position].value else { throw .wrongType }
    return change(at: position, key) { value in
      guard case .set(var set) = value else { return nil }
      value = .none
      let result = body(&set)
      if !set.isEmpty { value = .set(set) }
      return result
    }
  }

  /// - Returns: how many are new.
  fileprivate func addMembers(_ call: CommandCall) throws(CommandError) -> Int64 {
    let new = try changeSet(call[1], isMade: true) { set in
      Int64(call.words.dropFirst(2).count { set.insert($0).isNew })
    }
    changes += Int(new ?? 0)
    return new ?? 0
  }

  /// - Returns: how many there were.
  fileprivate func removeMembers(_ call: CommandCall) throws(CommandError) -> Int64 {
    let removed = try changeSet(call[1], isMade: false) { set in
      Int64(call.words.dropFirst(2).count { set.removeMember($0) })
    }
    changes += Int(removed ?? 0)
    return removed ?? 0
  }

  /// The oldest; with a count below 0 as many as it says, from the beginning again behind the last.
  fileprivate func someMembers(_ call: CommandCall) throws(CommandError) -> StoreReply {
    guard call.count > 2 else { return .optional(try members(call[1], limit: 1).first) }
    guard call.count == 3 else { throw .syntax }
    let count = try call.integer(2)
    guard count != .min else {
      throw CommandError(
        "ERR value is out of range, value must between -\(Int64.max) and \(Int64.max)")
    }
    if count >= 0 { return .strings(try members(call[1], limit: Int(count))) }
    let all = try members(call[1])
    guard !all.isEmpty else { return .array([]) }
    return .strings((0..<Int(-count)).map { all[$0 % all.count] })
  }
}
