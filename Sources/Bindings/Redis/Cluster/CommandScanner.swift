/// Finds commands and their keys in what a pipeline sends. Read only when there is a cluster: who
/// talks to one Redis pays nothing for it.
struct CommandScanner {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// Nil: these are no commands as `RedisPipeline` formats them.
  static func commands(of pipeline: RedisPipeline) -> [ScannedCommand]? {
    var scanner = CommandScanner(pipeline.bytes)
    var found: [(bytes: Range<Int>, slot: Int?)] = []
    found.reserveCapacity(pipeline.count)
    while scanner.position < scanner.bytes.count {
      guard let command = scanner.next() else { return nil }
      found.append(command)
    }
    guard found.count == pipeline.count else { return nil }
    return led(found)
  }

  /// A command without a key goes with the one before it, or, at the beginning, with the first that
  /// has one.
  private static func led(_ found: [(bytes: Range<Int>, slot: Int?)]) -> [ScannedCommand] {
    var leader = found.firstIndex { $0.slot != nil } ?? 0
    return found.enumerated().map { index, command in
      if command.slot != nil { leader = index }
      return ScannedCommand(bytes: command.bytes, slot: found[leader].slot, leader: leader)
    }
  }

  private mutating func next() -> (bytes: Range<Int>, slot: Int?)? {
    let start = position
    guard let count = length(after: UInt8(ascii: "*")), count > 0, let name = argument() else {
      return nil
    }
    var key: UnsafeRawBufferPointer?
    var keyPosition = CommandKeys.position(in: name)
    for index in 1..<max(count, 1) {
      guard let argument = argument() else { return nil }
      switch keyPosition {
      case .argument(index): key = argument
      case .counted(at: index):
        keyPosition = argument.elementsEqual([UInt8(ascii: "0")]) ? .none : .argument(index + 1)
      case .none, .argument, .counted: break
      }
    }
    return (start..<position, key.map { RedisSlot($0).number })
  }

  private mutating func argument() -> UnsafeRawBufferPointer? {
    guard let length = length(after: UInt8(ascii: "$")), length <= bytes.count - position - 2 else {
      return nil
    }
    defer { position += length + 2 }
    return UnsafeRawBufferPointer(rebasing: bytes[position..<position + length])
  }

  /// A mark, a decimal and a line end.
  private mutating func length(after mark: UInt8) -> Int? {
    guard position < bytes.count, bytes[position] == mark else { return nil }
    var value = 0
    position += 1
    while position < bytes.count, bytes[position] != UInt8(ascii: "\r") {
      guard value < 1 << 32 else { return nil }
      value = value * 10 + Int(bytes[position] &- UInt8(ascii: "0"))
      position += 1
    }
    position += 2
    return position <= bytes.count ? value : nil
  }
}
