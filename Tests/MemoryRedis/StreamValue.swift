/// A stream of entries. Redis holds them in nodes, and an approximate `MAXLEN ~` takes away whole
/// nodes only: they are counted here as Redis fills them, byte by byte (`t_stream.c` and
/// `listpack.c` of 7.0), so that as many entries stay.
struct StreamValue: Sendable {
  struct Identifier: Comparable, Sendable {
    var time: UInt64
    var sequence: UInt64

    static let zero = Identifier(time: 0, sequence: 0)
    static let maximum = Identifier(time: .max, sequence: .max)

    var text: ByteString { ByteString("\(time)-\(sequence)") }

    static func < (left: Identifier, right: Identifier) -> Bool {
      left.time != right.time ? left.time < right.time : left.sequence < right.sequence
    }

    /// Nil behind the last of all.
    var next: Identifier? {
      if sequence < .max { return Identifier(time: time, sequence: sequence + 1) }
      return time < .max ? Identifier(time: time + 1, sequence: 0) : nil
    }

    /// Nil before the first of all.
    var previous: Identifier? {
      if sequence > 0 { return Identifier(time: time, sequence: sequence - 1) }
      return time > 0 ? Identifier(time: time - 1, sequence: .max) : nil
    }
  }

  struct Entry: Sendable {
    let identifier: Identifier
    /// Names and values in turn.
    let fields: [ByteString]
  }

  /// Entries that Redis keeps in one block of memory.
  private struct Node {
    let master: Identifier
    let names: [ByteString]
    var live = 0
    var removed = 0
    var byteCount: Int
  }

  /// `stream-node-max-bytes` and `stream-node-max-entries`, as they are left alone.
  private static let maximumNodeBytes = 4096
  private static let maximumNodeEntries = 100
  /// What an approximate trim takes away at most.
  private static let maximumTrimmed = 100 * maximumNodeEntries

  private(set) var entries: [Entry] = []
  private var nodes: [Node] = []
  private(set) var last = Identifier.zero

  mutating func append(_ identifier: Identifier, _ fields: [ByteString]) {
    let names = stride(from: 0, to: fields.count, by: 2).map { fields[$0] }
    let size = fields.reduce(0) { $0 + $1.count }
    let isFull =
      nodes.last.map {
        $0.byteCount + size >= Self.maximumNodeBytes
          || $0.live + $0.removed >= Self.maximumNodeEntries
      } ?? true
    if isFull { nodes.append(Self.node(identifier, names)) }
    let position = nodes.count - 1
    // The counts at the head stay below 128, and so take a byte each.
    nodes[position].byteCount += Self.growth(of: nodes[position], identifier, fields)
    nodes[position].live += 1
    entries.append(Entry(identifier: identifier, fields: fields))
    last = identifier
  }

  private static func node(_ master: Identifier, _ names: [ByteString]) -> Node {
    // Header and end, then: live, removed, fields, their names, zero.
    let head =
      7 + 2 * ListpackSize.integer(0) + ListpackSize.integer(Int64(names.count))
      + names.reduce(0) { $0 + ListpackSize.string($1) } + ListpackSize.integer(0)
    return Node(master: master, names: names, byteCount: head)
  }

  private static func growth(
    of node: Node, _ identifier: Identifier, _ fields: [ByteString]
  ) -> Int {
    let hasSameNames =
      node.names.count * 2 == fields.count
      && node.names.indices.allSatisfy { node.names[$0] == fields[2 * $0] }
    var size = ListpackSize.integer(0)
    size += ListpackSize.integer(Int64(bitPattern: identifier.time &- node.master.time))
    size += ListpackSize.integer(Int64(bitPattern: identifier.sequence &- node.master.sequence))
    if !hasSameNames { size += ListpackSize.integer(Int64(fields.count / 2)) }
    for index in fields.indices where !hasSameNames || index % 2 == 1 {
      size += ListpackSize.string(fields[index])
    }
    let elements = fields.count / 2 + 3 + (hasSameNames ? 0 : fields.count / 2 + 1)
    return size + ListpackSize.integer(Int64(elements))
  }

  mutating func trim(to maximum: Int, isApproximate: Bool) {
    var trimmed = 0
    while entries.count - trimmed > maximum, let node = nodes.first {
      if isApproximate, trimmed + node.live > Self.maximumTrimmed { break }
      if entries.count - trimmed - node.live >= maximum {
        trimmed += node.live
        nodes.removeFirst()
        continue
      }
      guard !isApproximate else { break }
      let rest = entries.count - trimmed - maximum
      nodes[0].live -= rest
      nodes[0].removed += rest
      trimmed += rest
    }
    entries.removeFirst(trimmed)
  }

  /// The entries between two identifiers, both included.
  func entries(from first: Identifier, through last: Identifier) -> ArraySlice<Entry> {
    let start = position { $0 < first }
    let end = position { $0 <= last }
    return start < end ? entries[start..<end] : []
  }

  private func position(_ isBefore: (Identifier) -> Bool) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if isBefore(entries[middle].identifier) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// How many bytes an element takes in a listpack, with its length behind it.
private enum ListpackSize {
  static func string(_ text: ByteString) -> Int {
    if let number = text.integer { return integer(number) }
    let length = text.count
    return withLength(length + (length < 64 ? 1 : length < 4096 ? 2 : 5))
  }

  static func integer(_ number: Int64) -> Int {
    switch number {
    case 0...127: withLength(1)
    case -4096...4095: withLength(2)
    case -32_768...32_767: withLength(3)
    case -8_388_608...8_388_607: withLength(4)
    case -2_147_483_648...2_147_483_647: withLength(5)
    default: withLength(9)
    }
  }

  private static func withLength(_ size: Int) -> Int {
    switch size {
    case ...127: size + 1
    case ...16_382: size + 2
    case ...2_097_150: size + 3
    case ...268_435_454: size + 4
    default: size + 5
    }
  }
}
