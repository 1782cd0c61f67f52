/// A command whose one key holds a changing part, as `SMEMBERS ffd:{u:<user>}:bindings`. It is
/// formatted once; appending it to a pipeline copies bytes and writes one length: nothing is
/// allocated.
package struct RedisCommandTemplate: Sendable {
  /// Up to the `$` of the changing argument's length.
  let head: [UInt8]
  /// The line end behind the length, and what the argument begins with.
  let middle: [UInt8]
  /// The end of the argument, its line end, and the arguments behind it.
  let tail: [UInt8]
  /// Bytes of the argument without the changing part.
  let fixedKeyBytes: Int

  /// `before` are the arguments before the key, the command's name first; `after` those behind it.
  package init(_ before: String..., key: (prefix: [UInt8], suffix: [UInt8]), after: [String] = []) {
    let empty = Self.formatted(before + [""] + after)
    let filled = Self.formatted(before + ["x"] + after)
    // The two differ first in the length of the changing argument, "0" against "1".
    let difference = zip(empty, filled).prefix { $0 == $1 }.count
    head = Array(empty.prefix(difference))
    middle = Array("\r\n".utf8) + key.prefix
    // Behind the argument's "0\r\n".
    tail = key.suffix + empty.dropFirst(difference + 3)
    fixedKeyBytes = key.prefix.count + key.suffix.count
  }

  private static func formatted(_ arguments: [String]) -> [UInt8] {
    var buffer = CommandBuffer(capacity: 256)
    let isFormatted = buffer.append(arguments)
    precondition(isFormatted, "a command template without a command")
    return Array(buffer.bytes)
  }
}
