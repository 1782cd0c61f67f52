import HTTP2
import Testing

@Suite struct FieldBlockTests {
  @Test(arguments: [
    "a\rb", "a\nb", "a\u{0}b", "\r\nx: y", "\u{7f}", " leading", "trailing ", "tab\u{1}",
  ])
  func forbiddenBytesAreRefused(value: String) throws {
    let block = try HTTP2FieldBlock([("apns-collapse-id", "before", .never)])
    Array(value.utf8).withUnsafeBytes { #expect(!block.set(0, $0)) }
    #expect(throws: HTTP2Error.self) {
      try HTTP2FieldBlock([("apns-topic", value, .indexed)])
    }
  }

  @Test func everyByteIsJudgedAsTheRuleSays() throws {
    let block = try HTTP2FieldBlock([("apns-collapse-id", "", .never)])
    for byte in UInt8.min...UInt8.max {
      let accepted = [0x61, byte, 0x61].withUnsafeBytes { block.set(0, $0) }
      // RFC 9110, 5.5: visible, space, tab and obs-text.
      #expect(accepted == (byte == 9 || (byte >= 32 && byte != 127)), "byte \(byte)")
    }
  }

  @Test func pathsHaveANarrowerAlphabet() throws {
    let block = try HTTP2FieldBlock([(":path", "/", .never)])
    let good = Array("/3/device/00ff".utf8)
    good.withUnsafeBytes { #expect(block.set(0, $0)) }
    for bad in ["/3/device/a b", "/3/device/\r\n", "", "/\u{7f}"] {
      Array(bad.utf8).withUnsafeBytes { #expect(!block.set(0, $0), "\(bad)") }
    }
  }

  @Test(arguments: ["Apns-Topic", "a b", "", "a:b", "a\n", "é"])
  func badNamesAreRefused(name: String) {
    #expect(throws: HTTP2Error.self) { try HTTP2FieldBlock([(name, "x", .indexed)]) }
  }

  @Test func aValueTooLongIsRefused() throws {
    let block = try HTTP2FieldBlock([("apns-topic", "x", .indexed)])
    let long = [UInt8](repeating: 0x61, count: HTTP2FieldBlock.maximumValueBytes + 1)
    long.withUnsafeBytes { #expect(!block.set(0, $0)) }
    long.dropFirst().withUnsafeBytes { #expect(block.set(0, $0)) }
  }

  @Test func aRefusedValueLeavesTheOneBefore() throws {
    let wire = try Wire()
    wire.server.answers = false
    let bad = Array("a\r\nb".utf8)
    bad.withUnsafeBytes { #expect(!wire.block.set(4, $0)) }
    _ = try wire.client.submit(wire.block, body: .init(start: nil, count: 0), slot: 0)
    try wire.pump()
    let fields = try #require(wire.server.requests[0]?.fields)
    #expect(fields.contains { $0 == ("apns-topic", "com.example.live") })
  }
}
