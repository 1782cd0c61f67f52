/// What Redis answers to a command.
package enum StoreReply: Equatable, Sendable {
  case status(ByteString)
  /// With its code in front, without the dash.
  case error(ByteString)
  case integer(Int64)
  case bulk(ByteString)
  case null
  case nullArray
  case array([StoreReply])

  static let ok = StoreReply.status("OK")

  static func strings(_ strings: [ByteString]) -> StoreReply {
    .array(strings.map { .bulk($0) })
  }

  static func optional(_ string: ByteString?) -> StoreReply { string.map { .bulk($0) } ?? .null }

  static func flag(_ value: Bool) -> StoreReply { .integer(value ? 1 : 0) }

  package var isError: Bool {
    if case .error = self { true } else { false }
  }
}

extension StoreReply {
  /// As RESP 2 has it on the wire.
  package func write(to output: inout [UInt8]) {
    switch self {
    case .status(let text): Self.line("+", text, to: &output)
    case .error(let text): Self.line("-", text, to: &output)
    case .integer(let number): Self.line(":", number, to: &output)
    case .bulk(let string): Self.bulk(string, to: &output)
    case .null: Self.line("$", -1, to: &output)
    case .nullArray: Self.line("*", -1, to: &output)
    case .array(let replies):
      Self.line("*", Int64(replies.count), to: &output)
      for reply in replies { reply.write(to: &output) }
    }
  }

  /// How long a command is on the wire.
  static func size(of command: [ByteString]) -> Int {
    command.reduce(size(of: command.count)) { $0 + size(of: $1.count) + $1.count + 2 }
  }

  /// Of a line with its kind and a number that is not negative.
  private static func size(of number: Int) -> Int {
    var digits = 1
    var rest = number / 10
    while rest > 0 {
      digits += 1
      rest /= 10
    }
    return 1 + digits + 2
  }

  private static func bulk(_ string: ByteString, to output: inout [UInt8]) {
    line("$", Int64(string.count), to: &output)
    output += string.bytes
    end(&output)
  }

  private static func line(_ kind: Unicode.Scalar, _ number: Int64, to output: inout [UInt8]) {
    output.append(UInt8(ascii: kind))
    if (0..<10).contains(number) {
      output.append(0x30 + UInt8(number))
    } else if (10..<100).contains(number) {
      output.append(0x30 + UInt8(number / 10))
      output.append(0x30 + UInt8(number % 10))
    } else {
      output += "\(number)".utf8
    }
    end(&output)
  }

  /// A text in one line.
  private static func line(_ kind: Unicode.Scalar, _ text: ByteString, to output: inout [UInt8]) {
    output.append(UInt8(ascii: kind))
    for byte in text.bytes { output.append(byte == 0x0D || byte == 0x0A ? 0x20 : byte) }
    end(&output)
  }

  private static func end(_ output: inout [UInt8]) {
    output.append(0x0D)
    output.append(0x0A)
  }
}

/// Why a command is not done: the text of its error reply.
struct CommandError: Error {
  let text: ByteString

  init(_ text: String) { self.text = ByteString(text) }

  init(_ text: ByteString) { self.text = text }

  static func arity(_ command: String) -> CommandError {
    CommandError("ERR wrong number of arguments for '\(command)' command")
  }

  static func expireTime(_ command: String) -> CommandError {
    CommandError("ERR invalid expire time in '\(command)' command")
  }

  static let wrongType = CommandError(
    "WRONGTYPE Operation against a key holding the wrong kind of value")
  static let syntax = CommandError("ERR syntax error")
  static let notAnInteger = CommandError("ERR value is not an integer or out of range")
  static let overflow = CommandError("ERR increment or decrement would overflow")
  static let readOnly = CommandError("READONLY You can't write against a read only replica.")
  static let notAuthenticated = CommandError("NOAUTH Authentication required.")
  static let loading = CommandError("LOADING Redis is loading the dataset in memory")
  static let outOfMemory = CommandError(
    "OOM command not allowed when used memory > 'maxmemory'.")
}
