/// What Redis answers to a command.
package indirect enum StoreReply: Equatable, Sendable {
  case status(ByteString)
  /// With its code in front, without the dash.
  case error(ByteString)
  case integer(Int64)
  case bulk(ByteString)
  case null
  case nullArray
  case array([StoreReply])

  static let ok = StoreReply.status("OK")

  static func strings(_ strings: some Sequence<ByteString>) -> StoreReply {
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
    case .status(let text): Self.line("+", Self.oneLine(text), to: &output)
    case .error(let text): Self.line("-", Self.oneLine(text), to: &output)
    case .integer(let number): Self.line(":", Array("\(number)".utf8), to: &output)
    case .bulk(let string):
      Self.line("$", Array("\(string.count)".utf8), to: &output)
      output += string.bytes
      output += [0x0D, 0x0A]
    case .null: output += Array("$-1\r\n".utf8)
    case .nullArray: output += Array("*-1\r\n".utf8)
    case .array(let replies):
      Self.line("*", Array("\(replies.count)".utf8), to: &output)
      for reply in replies { reply.write(to: &output) }
    }
  }

  private static func line(_ kind: Unicode.Scalar, _ text: [UInt8], to output: inout [UInt8]) {
    output.append(UInt8(ascii: kind))
    output += text
    output += [0x0D, 0x0A]
  }

  private static func oneLine(_ text: ByteString) -> [UInt8] {
    text.bytes.map { $0 == 0x0D || $0 == 0x0A ? 0x20 : $0 }
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
