import HTTP2
import Testing
import Text

/// Servers that do what no library would: bytes made by hand.
@Suite struct HostileServerTests {
  private let nothing = UnsafeRawBufferPointer(start: nil, count: 0)

  private func frame(
    _ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []
  ) -> [UInt8] {
    let count = payload.count
    return [
      UInt8(truncatingIfNeeded: count >> 16), UInt8(truncatingIfNeeded: count >> 8),
      UInt8(truncatingIfNeeded: count), type, flags, UInt8(truncatingIfNeeded: stream >> 24),
      UInt8(truncatingIfNeeded: stream >> 16), UInt8(truncatingIfNeeded: stream >> 8),
      UInt8(truncatingIfNeeded: stream),
    ] + payload
  }

  /// A client with one request open on stream 1, slot 0, fed with `bytes` after the server's
  /// SETTINGS.
  private func clientFed(
    _ bytes: [UInt8], piece: Int = .max, options: HTTP2ClientOptions = HTTP2ClientOptions()
  ) throws -> (RecordingClient, HTTP2ClientSession, (any Error)?, [UInt8]) {
    let recorder = RecordingClient()
    let client = try HTTP2ClientSession(options: RecordingClient.options(options))
    let block = try Wire.requestBlock()
    _ = try client.submit(block, body: nothing, slot: 0)
    defer { recorder.drain(client) }
    var output: [UInt8] = []
    do {
      try withExtendedLifetime(block) { try drain(client, &output) }
      output = []
      let all = frame(4) + frame(4, flags: 1) + bytes
      var start = 0
      while start < all.count {
        let end = piece < all.count - start ? start + piece : all.count
        try all[start..<end].withUnsafeBytes { try client.receive($0) }
        try drain(client, &output)
        start = end
      }
    } catch {
      return (recorder, client, error, output)
    }
    return (recorder, client, nil, output)
  }

  private func drain(_ client: HTTP2ClientSession, _ output: inout [UInt8]) throws {
    while let bytes = try client.nextOutput() { output += Array(bytes) }
  }

  /// `:status: 200` is entry 8 of the static table.
  private let ok: [UInt8] = [0x88]

  @Test(arguments: [1, Int.max])
  func headersThenEmptyDataIsReadToItsEnd(piece: Int) throws {
    let bytes = frame(1, flags: 4, stream: 1, ok) + frame(0, flags: 1, stream: 1)
    let (recorder, client, error, _) = try clientFed(bytes, piece: piece)
    #expect(error == nil)
    #expect(recorder.heard[0]?.status == 200)
    #expect(recorder.heard[0]?.closed == [0])
    #expect(recorder.heard[0]?.body == [])
    #expect(client.openStreams == 0)
  }

  @Test func aPushBeforeOurSettingsArriveTouchesNoSlot() throws {
    let recorder = RecordingClient()
    let client = try HTTP2ClientSession(
      options: RecordingClient.options(HTTP2ClientOptions()))
    // The session reads the block until its request is written: held, as a sender holds it.
    let block = try Wire.requestBlock()
    _ = try client.submit(block, body: nothing, slot: 0)
    var output: [UInt8] = []
    try withExtendedLifetime(block) { try drain(client, &output) }
    let push = frame(5, flags: 4, stream: 1, [0, 0, 0, 2, 0x82, 0x86, 0x84, 0x41, 1, 0x61])
    let bytes = frame(4) + push + frame(1, flags: 5, stream: 1, ok)
    try bytes.withUnsafeBytes { try client.receive($0) }
    try drain(client, &output)
    recorder.drain(client)
    #expect(recorder.heard[0]?.headers == [:])
    #expect(recorder.heard[0]?.status == 200)
    #expect(recorder.heard[0]?.closed == [0])
  }

  @Test func informationalHeadsAreSwallowed() throws {
    // Literal without indexing, name = static entry 8 (:status), value "103", and a field "x: y".
    let early: [UInt8] = [0x08, 3, 0x31, 0x30, 0x33, 0x00, 1, 0x78, 1, 0x79]
    let bytes =
      frame(1, flags: 4, stream: 1, early) + frame(1, flags: 4, stream: 1, early)
      + frame(1, flags: 5, stream: 1, ok)
    let (recorder, _, error, _) = try clientFed(bytes)
    #expect(error == nil)
    #expect(recorder.heard[0]?.status == 200)
    #expect(recorder.heard[0]?.headers == [:])
    #expect(recorder.statusCount == 1)
    #expect(recorder.heard[0]?.closed == [0])
  }

  @Test func trailersAreNotFields() throws {
    let bytes =
      frame(1, flags: 4, stream: 1, ok + [0x00, 1, 0x61, 1, 0x62])
      + frame(1, flags: 5, stream: 1, [0x00, 1, 0x78, 1, 0x79])
    let (recorder, _, error, _) = try clientFed(bytes)
    #expect(error == nil)
    #expect(recorder.heard[0]?.headers == ["a": "b"])
    #expect(recorder.statusCount == 1)
    #expect(recorder.heard[0]?.closed == [0])
  }

  @Test func aResetWithNoErrorBeforeTheEndIsNotAnAnswer() throws {
    let bytes = frame(1, flags: 4, stream: 1, ok) + frame(3, stream: 1, [0, 0, 0, 0])
    let (recorder, _, error, _) = try clientFed(bytes)
    #expect(error == nil)
    #expect(recorder.heard[0]?.closed == [HTTP2ErrorCode.internalError])
  }

  @Test func aResponseWithoutStatusClosesItsStreamOnly() throws {
    let bytes = frame(1, flags: 5, stream: 1, [0x00, 1, 0x61, 1, 0x62])
    let (recorder, client, error, _) = try clientFed(bytes)
    #expect(error == nil)
    #expect(recorder.heard[0]?.closed == [HTTP2ErrorCode.protocolError])
    #expect(recorder.statusCount == 0)
    #expect(client.wantsIO)
  }

  @Test func aHeadTooLongClosesItsStream() throws {
    let value = [UInt8](repeating: 0x61, count: 100)
    var block = ok
    for _ in 0..<150 { block += [0x00, 1, 0x61, 100] + value }
    let (recorder, _, error, _) = try clientFed(frame(1, flags: 5, stream: 1, block))
    #expect(error == nil)
    #expect(recorder.heard[0]?.closed == [HTTP2ErrorCode.internalError])
  }

  @Test(arguments: [
    ("push promise", UInt8(5)), ("unknown hpack index", 1), ("window overflow", 8),
    ("frame too large", 0), ("headers on an idle stream", 9), ("settings with an odd size", 4),
  ])
  func violationsEndTheConnectionWithAGoAway(name: String, type: UInt8) throws {
    let bytes: [UInt8]
    switch type {
    case 5: bytes = frame(5, flags: 4, stream: 1, [0, 0, 0, 2] + [0x82, 0x86, 0x84])
    case 1: bytes = frame(1, flags: 5, stream: 1, [0xff, 0xff, 0xff, 0xff, 0x0f])
    case 8: bytes = frame(8, [0x7f, 0xff, 0xff, 0xff])
    case 0: bytes = frame(0, flags: 1, stream: 1, [UInt8](repeating: 0, count: 20_000))
    case 9: bytes = frame(1, flags: 5, stream: 7, ok)
    default: bytes = frame(4, [0, 1, 2])
    }
    let (recorder, client, error, output) = try clientFed(bytes)
    #expect((error as? HTTP2Error)?.code == .protocolViolation)
    #expect(hasFrame(7, in: output))
    // The owner re-queues slot 0 by its own table.
    #expect(recorder.closedCount <= 1)
    #expect(!client.wantsIO)
    #expect(throws: HTTP2Error.self) { try bytes.withUnsafeBytes { try client.receive($0) } }
  }

  private func hasFrame(_ type: UInt8, in bytes: [UInt8]) -> Bool {
    var start = 0
    while start + 9 <= bytes.count {
      if bytes[start + 3] == type { return true }
      start += 9 + Int(bytes[start]) << 16 + Int(bytes[start + 1]) << 8 + Int(bytes[start + 2])
    }
    return false
  }

  @Test(arguments: [
    "settings", "ping", "empty data", "priority", "window update", "continuation", "unknown type",
  ])
  func floodsEndTheConnection(kind: String) throws {
    var options = HTTP2ClientOptions()
    options.limits.maximumFramesWithoutProgress = 2000
    options.limits.maximumBytesWithoutProgress = 1 << 20
    var bytes: [UInt8] = []
    let one: [UInt8]
    switch kind {
    case "settings": one = frame(4)
    case "ping": one = frame(6, [0, 1, 2, 3, 4, 5, 6, 7])
    case "empty data":
      bytes += frame(1, flags: 4, stream: 1, ok)
      one = frame(0, stream: 1)
    case "priority": one = frame(2, stream: 9, [0, 0, 0, 0, 1])
    case "window update": one = frame(8, [0, 0, 0, 1])
    case "unknown type": one = frame(200, [UInt8](repeating: 0, count: 64))
    default:
      bytes += frame(1, flags: 0, stream: 1, ok)
      one = frame(9, flags: 0, stream: 1)
    }
    for _ in 0..<20_000 { bytes += one }
    let (_, client, error, output) = try clientFed(bytes, piece: 4096, options: options)
    #expect(error != nil)
    #expect(!client.wantsIO)
    #expect(output.count < 200_000)
  }

  @Test func randomBytesNeverTrap() throws {
    var random = SplitMix64(seed: 42)
    for _ in 0..<2000 {
      let bytes = (0..<Int.random(in: 1...200, using: &random)).map { _ in
        UInt8.random(in: .min ... .max, using: &random)
      }
      let (recorder, _, _, _) = try clientFed(bytes, piece: 13)
      #expect(recorder.closedCount <= 1)
    }
  }
}
