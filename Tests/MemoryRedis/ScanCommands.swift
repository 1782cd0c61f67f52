/// Commands that look through keys, fields or members.
enum ScanCommands {
  static let all: [KnownCommand] = [
    CommandTable.read("keys", 2) { store, call in
      let pattern = GlobPattern(call[1])
      return .strings(store.names.filter { pattern.matches($0) })
    },
    CommandTable.read("scan", -2) { store, call throws(CommandError) in
      try store.scanKeys(call)
    },
    CommandTable.read("sscan", -3) { store, call throws(CommandError) in
      let cursor = try ScanOptions.cursor(call[2])
      guard let set = try store.set(call[1]) else { return ScanOptions.nothing }
      let options = try ScanOptions(call, from: 3)
      let (positions, next) = set.page(after: cursor, limit: options.count)
      return ScanOptions.reply(
        next, positions.map { set.slots[$0].key }.filter { options.takes($0) })
    },
    CommandTable.read("hscan", -3) { store, call throws(CommandError) in
      let cursor = try ScanOptions.cursor(call[2])
      guard let hash = try store.hash(call[1]) else { return ScanOptions.nothing }
      let options = try ScanOptions(call, from: 3)
      let (positions, next) = hash.keys.page(after: cursor, limit: options.count)
      return ScanOptions.reply(
        next,
        hash.pairs(at: positions).filter { options.takes($0.field) }.flatMap {
          [$0.field, $0.value]
        })
    },
  ]
}

/// What stands behind the cursor.
private struct ScanOptions {
  var count = 10
  private var pattern: GlobPattern?
  private(set) var kind: ByteString?

  init(_ call: CommandCall, from start: Int, takesKind: Bool = false) throws(CommandError) {
    var index = start
    while index < call.count {
      guard index + 1 < call.count else { throw .syntax }
      switch call.word(index) {
      case "count":
        let count = try call.integer(index + 1)
        guard count >= 1 else { throw .syntax }
        self.count = Int(count)
      case "match": pattern = GlobPattern(call[index + 1])
      case "type" where takesKind: kind = call.word(index + 1)
      default: throw .syntax
      }
      index += 2
    }
  }

  func takes(_ key: ByteString) -> Bool { pattern?.matches(key) ?? true }

  static func cursor(_ text: ByteString) throws(CommandError) -> UInt64 {
    // `strtoul` takes nothing for 0.
    guard let cursor = text.count == 0 ? 0 : UInt64(text.text) else {
      throw CommandError("ERR invalid cursor")
    }
    return cursor
  }

  static let nothing = reply(0, [])

  static func reply(_ next: UInt64, _ found: [ByteString]) -> StoreReply {
    .array([.bulk(ByteString("\(next)")), .strings(found)])
  }
}

extension RedisStore {
  fileprivate func scanKeys(_ call: CommandCall) throws(CommandError) -> StoreReply {
    let cursor = try ScanOptions.cursor(call[1])
    let options = try ScanOptions(call, from: 2, takesKind: true)
    let (all, next) = keys.page(after: cursor, limit: options.count)
    var found: [ByteString] = []
    for key in all where options.takes(key) {
      guard let value = value(key) else { continue }
      if options.kind == nil || options.kind == value.kind { found.append(key) }
    }
    return ScanOptions.reply(next, found)
  }
}

/// A pattern of KEYS and MATCH: `*`, `?`, `[a-c]`, `[^a]`, and a backslash before what is meant as
/// it is.
struct GlobPattern {
  private let pattern: [UInt8]

  init(_ pattern: ByteString) { self.pattern = pattern.bytes }

  func matches(_ text: ByteString) -> Bool { matches(0, text.bytes[...]) }

  private func matches(_ start: Int, _ text: ArraySlice<UInt8>) -> Bool {
    var index = start
    var rest = text
    while index < pattern.count {
      switch pattern[index] {
      case UInt8(ascii: "*"):
        if index + 1 == pattern.count { return true }
        return (rest.startIndex...rest.endIndex).contains { matches(index + 1, rest[$0...]) }
      case UInt8(ascii: "?"):
        guard rest.popFirst() != nil else { return false }
      case UInt8(ascii: "["):
        guard let byte = rest.popFirst(), takes(byte, &index) else { return false }
      case UInt8(ascii: "\\") where index + 1 < pattern.count:
        index += 1
        guard rest.popFirst() == pattern[index] else { return false }
      default:
        guard rest.popFirst() == pattern[index] else { return false }
      }
      index += 1
    }
    return rest.isEmpty
  }

  /// Leaves `index` at the closing bracket.
  private func takes(_ byte: UInt8, _ index: inout Int) -> Bool {
    index += 1
    let isNegated = index < pattern.count && pattern[index] == UInt8(ascii: "^")
    if isNegated { index += 1 }
    var isFound = false
    while index < pattern.count, pattern[index] != UInt8(ascii: "]") {
      if pattern[index] == UInt8(ascii: "\\"), index + 1 < pattern.count { index += 1 }
      let first = pattern[index]
      if index + 2 < pattern.count, pattern[index + 1] == UInt8(ascii: "-") {
        let last = pattern[index + 2]
        if (min(first, last)...max(first, last)).contains(byte) { isFound = true }
        index += 2
      } else if first == byte {
        isFound = true
      }
      index += 1
    }
    return isFound != isNegated
  }
}
