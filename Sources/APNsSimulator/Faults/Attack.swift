/// Attacks of a hostile or broken server on a client: frames made by hand (RFC 9113), since no
/// library sends them.
package enum Attack: String, Sendable, CaseIterable {
  // Without end, until the client closes.
  case settings, ping, priority, continuation
  case emptyData = "empty_data"
  case windowUpdate = "window_update"
  case reset
  // One of each is enough.
  case pushPromise = "push_promise"
  case longFrame = "long_frame"
  case reusedStream = "reused_stream"
  case longHeader = "long_header"
  /// A header block of 16 KiB that stands for forty megabytes (RFC 7541, section 7.3).
  case headerBomb = "header_bomb"

  /// No client reads more than this before it closes, in bytes.
  static let longest = 64 << 20
  /// The size of the pieces in which an endless attack is made, in bytes.
  private static let piece = 64 << 10

  private enum Frame: UInt8 {
    case data, headers, priority, reset, settings, pushPromise, ping, goAway, windowUpdate
    case continuation
  }

  private static let endStream: UInt8 = 1
  private static let endHeaders: UInt8 = 4
  /// `:status: 500` is entry 14 of the static table: nobody is told that a push was taken.
  private static let status: [UInt8] = [0x8e]
  /// A literal field that goes into the dynamic table, as its 62nd entry: name `x`.
  private static let indexedLiteral: [UInt8] = [0x40, 1, 0x78]
  private static let entry62: UInt8 = 0xbe

  /// Returns the first bytes of the attack, or all of them.
  func opening(stream: Int32) -> [UInt8] {
    switch self {
    case .settings, .ping, .priority, .windowUpdate, .reset: return []
    case .continuation: return Self.frame(.headers, 0, stream, Self.status)
    case .emptyData: return Self.frame(.headers, Self.endHeaders, stream, Self.status)
    case .pushPromise:
      // `:method: GET`, `:path: /`, `:scheme: http`.
      return Self.frame(.pushPromise, Self.endHeaders, stream, [0, 0, 0, 2, 0x82, 0x84, 0x86])
    case .longFrame:
      return Self.frame(.data, 0, stream, [UInt8](repeating: 0, count: 20_000))
    case .reusedStream:
      let head = Self.frame(.headers, Self.endHeaders | Self.endStream, stream, Self.status)
      return head + head
    case .longHeader: return Self.longHeader(stream)
    case .headerBomb:
      let value = [UInt8](repeating: 0x61, count: 3_000)
      let block = Self.status + Self.indexedLiteral + Self.length(value.count) + value
      let bomb = [UInt8](repeating: Self.entry62, count: 13_000)
      return Self.frame(.headers, Self.endHeaders | Self.endStream, stream, block + bomb)
    }
  }

  /// Returns bytes to repeat without end; nil: there are none.
  func more(stream: Int32) -> [UInt8]? {
    let one: [UInt8]
    switch self {
    case .settings: one = Self.frame(.settings, 0, 0, [])
    case .ping: one = Self.frame(.ping, 0, 0, [0, 1, 2, 3, 4, 5, 6, 7])
    case .priority: one = Self.frame(.priority, 0, stream, [0, 0, 0, 0, 1])
    case .windowUpdate: one = Self.frame(.windowUpdate, 0, 0, [0, 0, 0, 1])
    case .emptyData: one = Self.frame(.data, 0, stream, [])
    case .continuation: one = Self.frame(.continuation, 0, stream, [])
    case .reset: one = Self.frame(.reset, 0, stream, [0, 0, 0, 8])
    case .pushPromise, .longFrame, .reusedStream, .longHeader, .headerBomb: return nil
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.piece + one.count)
    while bytes.count < Self.piece { bytes += one }
    return bytes
  }

  /// One field of a megabyte, in frames of the usual size.
  private static func longHeader(_ stream: Int32) -> [UInt8] {
    let count = 1 << 20
    // A literal that goes into no table: name `x`.
    var block = status + [0x00, 1, 0x78] + length(count)
    block += [UInt8](repeating: 0x61, count: count)
    var bytes: [UInt8] = []
    var rest = block[...]
    while !rest.isEmpty {
      let part = rest.prefix(16_384)
      rest = rest.dropFirst(part.count)
      let kind: Frame = bytes.isEmpty ? .headers : .continuation
      bytes += frame(kind, rest.isEmpty ? endHeaders : 0, stream, Array(part))
    }
    return bytes
  }

  /// The length of a string as HPACK writes it (RFC 7541, section 5.1), with a prefix of 7 bits.
  private static func length(_ count: Int) -> [UInt8] {
    guard count >= 127 else { return [UInt8(count)] }
    var bytes: [UInt8] = [127]
    var rest = count - 127
    while rest >= 128 {
      bytes.append(UInt8(rest % 128 + 128))
      rest /= 128
    }
    return bytes + [UInt8(rest)]
  }

  private static func frame(
    _ type: Frame, _ flags: UInt8, _ stream: Int32, _ payload: [UInt8]
  ) -> [UInt8] {
    let count = UInt32(payload.count)
    var head = [UInt8](repeating: 0, count: 9)
    for index in 0..<3 { head[index] = UInt8(truncatingIfNeeded: count >> (16 - 8 * index)) }
    head[3] = type.rawValue
    head[4] = flags
    for index in 0..<4 {
      head[5 + index] = UInt8(truncatingIfNeeded: UInt32(bitPattern: stream) >> (24 - 8 * index))
    }
    return head + payload
  }
}
