/// Commands on keys, whatever they hold.
enum KeyCommands {
  static let all: [KnownCommand] = [
    CommandTable.write("del", -2) { $0.remove($1.words.dropFirst()) },
    CommandTable.write("unlink", -2) { $0.remove($1.words.dropFirst()) },
    CommandTable.read("exists", -2) { store, call in
      .integer(Int64(call.words.dropFirst().count { store.position(of: $0) != nil }))
    },
    CommandTable.read("type", 2) { .status($0.value($1[1])?.kind ?? "none") },
    CommandTable.write("rename", 3) { store, call throws(CommandError) in
      try store.rename(call[1], call[2])
    },
    CommandTable.read("dbsize", 1) { store, _ in
      store.removeEnded()
      return .integer(Int64(store.keys.count))
    },
    CommandTable.write("flushall", -1) { store, call throws(CommandError) in
      try store.flush(call)
    },
    CommandTable.write("flushdb", -1) { store, call throws(CommandError) in
      try store.flush(call)
    },
  ]
}

extension RedisStore {
  fileprivate func remove(_ names: ArraySlice<ByteString>) -> StoreReply {
    var count: Int64 = 0
    for name in names where position(of: name) != nil {
      keys.remove(name)
      count += 1
    }
    changes += Int(count)
    return .integer(count)
  }

  fileprivate func rename(
    _ old: ByteString, _ new: ByteString
  ) throws(CommandError) -> StoreReply {
    guard let position = position(of: old) else { throw CommandError("ERR no such key") }
    changes += 1
    guard old != new else { return .ok }
    let entry = keys[position: position]
    keys.remove(old)
    keys.remove(new)
    keys.set(new, entry)
    return .ok
  }

  fileprivate func flush(_ call: CommandCall) throws(CommandError) -> StoreReply {
    if call.count > 1 {
      guard call.count == 2, ["async", "sync"].contains(call.word(1)) else { throw .syntax }
    }
    keys = EntryTable()
    changes += 1
    return .ok
  }
}
