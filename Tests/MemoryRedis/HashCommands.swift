/// Commands on hashes.
enum HashCommands {
  static let all: [KnownCommand] = [
    CommandTable.add("hset", -4) { store, call throws(CommandError) in
      guard call.count % 2 == 0 else { throw .arity("hset") }
      return .integer(try store.setFields(call))
    },
    CommandTable.add("hsetnx", 4) { store, call throws(CommandError) in
      if try store.hash(call[1])?[call[2]] != nil { return .integer(0) }
      return .integer(try store.setFields(call))
    },
    CommandTable.read("hget", 3) { store, call throws(CommandError) in
      .optional(try store.hash(call[1])?[call[2]])
    },
    CommandTable.read("hmget", -3) { store, call throws(CommandError) in
      let hash = try store.hash(call[1])
      return .array(call.words.dropFirst(2).map { .optional(hash?[$0]) })
    },
    CommandTable.read("hgetall", 2) { store, call throws(CommandError) in
      .array(try store.fields(call[1]).flatMap { [.bulk($0.field), .bulk($0.value)] })
    },
    CommandTable.read("hkeys", 2) { store, call throws(CommandError) in
      .strings(try store.fields(call[1]).map(\.field))
    },
    CommandTable.read("hvals", 2) { store, call throws(CommandError) in
      .strings(try store.fields(call[1]).map(\.value))
    },
    CommandTable.read("hlen", 2) { store, call throws(CommandError) in
      .integer(Int64(try store.hash(call[1])?.count ?? 0))
    },
    CommandTable.read("hexists", 3) { store, call throws(CommandError) in
      .flag(try store.hash(call[1])?[call[2]] != nil)
    },
    CommandTable.write("hdel", -3) { store, call throws(CommandError) in
      .integer(try store.removeFields(call))
    },
    CommandTable.add("hincrby", 4) { store, call throws(CommandError) in
      .integer(try store.increaseField(call[1], call[2], by: call.integer(3)))
    },
  ]
}

extension RedisStore {
  /// Nil: there is no such key.
  func hash(_ key: ByteString) throws(CommandError) -> FieldTable? {
    switch value(key) {
    case .hash(let hash): hash
    case nil: nil
    default: throw .wrongType
    }
  }

  fileprivate func fields(
    _ key: ByteString
  ) throws(CommandError) -> [(field: ByteString, value: ByteString)] {
    try hash(key)?.all ?? []
  }

  /// Changes a hash; one without fields goes. Nil: there is none, and none is made.
  private func changeHash<Result>(
    _ key: ByteString, isMade: Bool, _ body: (inout FieldTable) -> Result
  ) throws(CommandError) -> Result? {
    if position(of: key) == nil {
      guard isMade else { return nil }
      keys.set(key, StoreEntry(value: .hash(FieldTable())))
    }
    guard let position = position(of: key) else { return nil }
    guard case .hash = keys[position: position].value else { throw .wrongType }
    return change(at: position, key) { value in
      guard case .hash(var hash) = value else { return nil }
      value = .none
      let result = body(&hash)
      if !hash.isEmpty { value = .hash(hash) }
      return result
    }
  }

  /// - Returns: how many are new.
  fileprivate func setFields(_ call: CommandCall) throws(CommandError) -> Int64 {
    let new = try changeHash(call[1], isMade: true) { hash in
      var new: Int64 = 0
      for index in stride(from: 2, to: call.count, by: 2) {
        if hash.set(call[index], call[index + 1]) { new += 1 }
      }
      return new
    }
    changes += 1
    return new ?? 0
  }

  /// - Returns: how many there were.
  fileprivate func removeFields(_ call: CommandCall) throws(CommandError) -> Int64 {
    let removed = try changeHash(call[1], isMade: false) { hash in
      Int64(call.words.dropFirst(2).count { hash.remove($0) })
    }
    changes += Int(removed ?? 0)
    return removed ?? 0
  }

  fileprivate func increaseField(
    _ key: ByteString, _ field: ByteString, by amount: Int64
  ) throws(CommandError) -> Int64 {
    let old = try hash(key)?[field]
    guard let number = old.map(\.integer) ?? 0 else {
      throw CommandError("ERR hash value is not an integer")
    }
    let (sum, isOver) = number.addingReportingOverflow(amount)
    guard !isOver else { throw .overflow }
    _ = try changeHash(key, isMade: true) { $0.set(field, ByteString(sum)) }
    changes += 1
    return sum
  }
}
