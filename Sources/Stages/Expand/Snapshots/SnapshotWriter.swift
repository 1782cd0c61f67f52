import Redis

/// Makes snapshots of what SMEMBERS and HMGET answered.
struct SnapshotWriter {
  private let key: (prefix: [UInt8], suffix: [UInt8])
  private let command = Array("SET".utf8)
  private let fields: [[UInt8]]
  private var bytes: [UInt8] = []

  /// - Parameter fields: the names of what profiles hold, in this order.
  init(key: (prefix: [UInt8], suffix: [UInt8]), fields: [String]) {
    self.key = key
    self.fields = fields.map { Array($0.utf8) }
  }

  /// Appends the command that stores a user's snapshot, or that the user has none that is fit.
  mutating func append(
    _ user: UnsafeRawBufferPointer, bindings: RedisReply, profile: RedisReply, isTold: Bool,
    _ stamp: SnapshotStamp, to pipeline: RedisPipeline
  ) {
    begin(stamp, .whole)
    if !isTold || !add(bindings, profile) { begin(stamp, .unfit) }
    let name = key.prefix + user + key.suffix
    command.withUnsafeBytes { command in
      name.withUnsafeBytes { name in
        bytes.withUnsafeBytes { pipeline.append(slices: [command, name, $0]) }
      }
    }
  }

  private mutating func begin(_ stamp: SnapshotStamp, _ kind: SnapshotLayout.Kind) {
    bytes.removeAll(keepingCapacity: true)
    add(stamp.writer)
    add(stamp.batch)
    bytes.append(kind.rawValue)
  }

  /// False: it would be too large.
  private mutating func add(_ bindings: RedisReply, _ profile: RedisReply) -> Bool {
    guard fields.count <= SnapshotLayout.maximumFields, profile.count == fields.count else {
      return false
    }
    bytes.append(UInt8(fields.count))
    add(UInt16(clamping: fields.reduce(0) { $0 + 1 + $1.count }))
    for field in fields {
      guard field.count <= UInt8.max else { return false }
      bytes.append(UInt8(field.count))
      bytes += field
    }
    var fits = bindings.count <= Int(UInt16.max)
    profile.forEachElement { _, kind, value in
      if kind == .null { return add(SnapshotLayout.missing) }
      fits = fits && add(value)
    }
    add(UInt16(clamping: bindings.count))
    bindings.forEachElement { _, _, member in fits = fits && add(member) }
    return fits && bytes.count <= SnapshotLayout.maximumBytes
  }

  private mutating func add(_ text: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count + text.count <= SnapshotLayout.maximumBytes else { return false }
    add(UInt16(text.count))
    bytes.append(contentsOf: text)
    return true
  }

  private mutating func add<Number: FixedWidthInteger>(_ number: Number) {
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
  }
}
