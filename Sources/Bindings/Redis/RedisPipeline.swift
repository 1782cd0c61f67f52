/// Commands that go out together, formatted into one buffer. Keep one and reuse it: once `execute`
/// has returned or thrown, `removeAll` empties it and keeps the memory. Not to be changed while
/// `execute` runs.
///
/// Only commands with exactly one reply: no SUBSCRIBE, MONITOR, CLIENT REPLY, nor blocking ones,
/// since everybody on the connection would wait for them.
package final class RedisPipeline {
  private var buffer: CommandBuffer
  /// Commands so far.
  package private(set) var count = 0
  /// Set by a command that could not be formatted; `execute` throws it.
  private(set) var failure: RedisError?

  package init(capacity: Int = 4096) { buffer = CommandBuffer(capacity: capacity) }

  package convenience init(_ commands: [String]...) {
    self.init()
    for command in commands { append(command) }
  }

  /// RESP as it goes to the socket; good until the next change.
  package var bytes: UnsafeRawBufferPointer { buffer.bytes }

  package func removeAll() {
    buffer.removeAll()
    count = 0
    failure = nil
  }

  package func append(_ arguments: [String]) {
    finishCommand(isFormatted: buffer.append(arguments))
  }

  package func append(_ arguments: String...) { append(arguments) }

  /// For arguments that are not text.
  package func append(slices arguments: [UnsafeRawBufferPointer]) {
    finishCommand(isFormatted: buffer.append(arguments))
  }

  /// The hot path: `changing` comes between the prefix and suffix of the template's key.
  @inline(__always)
  package func append(_ template: RedisCommandTemplate, _ changing: UnsafeRawBufferPointer) {
    let keyBytes = template.fixedKeyBytes + changing.count
    buffer.reserve(
      template.head.count + 20 + template.middle.count + changing.count + template.tail.count)
    template.head.withUnsafeBytes { buffer.appendReserved($0) }
    buffer.appendReserved(decimal: keyBytes)
    template.middle.withUnsafeBytes { buffer.appendReserved($0) }
    buffer.appendReserved(changing)
    template.tail.withUnsafeBytes { buffer.appendReserved($0) }
    count += 1
  }

  /// One command of another pipeline, formatted already.
  func append(commandOf other: RedisPipeline, at range: Range<Int>) {
    let formatted = UnsafeRawBufferPointer(rebasing: other.bytes[range])
    buffer.reserve(formatted.count)
    buffer.appendReserved(formatted)
    count += 1
  }

  /// Some of the commands, in a pipeline of their own. Nil: this holds what is no command.
  func selecting(_ indices: [Int]) -> RedisPipeline? {
    guard let commands = CommandScanner.commands(of: self) else { return nil }
    let selected = RedisPipeline()
    for index in indices { selected.append(commandOf: self, at: commands[index].bytes) }
    return selected
  }

  private func finishCommand(isFormatted: Bool) {
    guard !isFormatted else {
      count += 1
      return
    }
    guard failure == nil else { return }
    let limit = CommandBuffer.maximumBytes
    failure = RedisError(
      .invalidUse, "a Redis command has no arguments or more than \(limit) bytes of them")
  }
}

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
