/// What a key holds.
enum StoreValue: Sendable {
  case string(ByteString)
  case hash(FieldTable)
  case set(OrderedKeys)
  case sortedSet(SortedSet)
  case stream(StreamValue)
  /// While it is being changed.
  case none

  /// As TYPE has it.
  var kind: ByteString {
    switch self {
    case .string: "string"
    case .hash: "hash"
    case .set: "set"
    case .sortedSet: "zset"
    case .stream: "stream"
    case .none: "none"
    }
  }
}

/// A key's value, and when it ends: ms since 1970.
struct StoreEntry: Sendable {
  var value: StoreValue
  var expiresAt: Int64?
}

/// All that a Redis holds, at one moment: what a snapshot keeps. Copying it costs nothing.
package struct StoreImage: Sendable {
  var keys = EntryTable()

  package init() {}

  /// Keys, those that have ended among them.
  package var count: Int { keys.count }
}
