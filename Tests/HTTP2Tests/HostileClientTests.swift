import HTTP2
import Testing

/// Clients that do what no library would: bytes made by hand.
@Suite struct HostileClientTests {
  private func frame(_ type: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
    let count = payload.count
    return [
      0, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count), type, flags, 0,
      UInt8(truncatingIfNeeded: stream >> 16), UInt8(truncatingIfNeeded: stream >> 8),
      UInt8(truncatingIfNeeded: stream),
    ] + payload
  }

  /// `:method: POST`, `:scheme: https` and `:path: /` of the static table, and an `:authority`.
  private let head: [UInt8] = [0x83, 0x87, 0x84, 0x01, 1, 0x61]

  /// A byte of a head stands for three thousand, and requests that are taken back make room for
  /// more: what one piece of 30 KB says is bounded all the same, and the next is heard.
  @Test func aFewBytesThatStandForManyAreNotAllKept() throws {
    let session = try HTTP2ServerSession(options: HTTP2ServerOptions())
    // With incremental indexing: a name of one byte, a value of 3,000.
    let large: [UInt8] =
      [0x40, 1, 0x78, 0x7f, 0xb9, 0x16] + [UInt8](repeating: 0x61, count: 3_000)
    var bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(4, flags: 0, stream: 0, [])
    bytes += frame(1, flags: 5, stream: 1, head + large)
    for number in 1..<UInt32(900) {
      let stream = 2 * number + 1
      bytes += frame(1, flags: 5, stream: stream, head + [0xbe, 0xbe, 0xbe, 0xbe])
      bytes += frame(3, flags: 0, stream: stream, [0, 0, 0, 8])
    }
    try bytes.withUnsafeBytes { try session.receive($0) }
    var heard = 0
    while let said = session.nextHeard() {
      if case .field(_, let name, let value) = said { heard += name.count + value.count }
    }
    #expect(heard > 3_000_000 && heard < 5_000_000)
    while try session.nextOutput() != nil {}
    let last = frame(1, flags: 5, stream: 1_801, head + [0xbe])
    try last.withUnsafeBytes { try session.receive($0) }
    var hasEnded = false
    while let said = session.nextHeard() { if case .ended = said { hasEnded = true } }
    #expect(hasEnded)
  }
}
