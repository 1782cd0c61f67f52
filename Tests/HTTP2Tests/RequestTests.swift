import HTTP2
import Testing

@Suite struct RequestTests {
  @Test(arguments: [1, 7, 4096])
  func bodiesOfEverySizeComeBack(piece: Int) throws {
    let wire = try Wire(piece: piece)
    try wire.pump()
    #expect(wire.recorder.settingsChanges == 1)
    for size in [0, 1, 2, 255, 1024, 4095, 4096] {
      let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let path = Array("/3/device/\(size)".utf8)
      try body.withUnsafeBytes { bytes in
        try path.withUnsafeBytes { pathBytes in
          #expect(wire.block.set(3, pathBytes))
          let stream = try wire.client.submit(wire.block, body: bytes, slot: 5)
          #expect(stream % 2 == 1)
          #expect(wire.client.openStreams == 1)
          try wire.pump()
          let heard = try #require(wire.recorder.heard[5])
          wire.recorder.heard[5] = nil
          #expect(heard.status == 200)
          #expect(heard.body == body)
          #expect(heard.closed == [0])
          #expect(heard.headers == ["apns-id": "id-\(stream)"])
        }
      }
      #expect(wire.client.openStreams == 0)
    }
  }

  @Test(arguments: [("200", "", true), ("400", "why", true), ("200", "why", false)])
  func theBodyOfASuccessIsLeftOutWhereNobodyReadsIt(
    status: String, kept: String, isLeftOut: Bool
  ) throws {
    var options = HTTP2ClientOptions()
    options.keepsBodyOfSuccess = !isLeftOut
    let wire = try Wire(clientOptions: options)
    try wire.pump()
    try Array(status.utf8).withUnsafeBytes { status in
      try Array("why".utf8).withUnsafeBytes { body in
        #expect(wire.server.head.set(0, status))
        _ = try wire.client.submit(wire.block, body: body, slot: 0)
        try wire.pump()
      }
    }
    let heard = try #require(wire.recorder.heard[0])
    #expect("\(heard.status)" == status && heard.closed == [0])
    #expect(String(decoding: heard.body, as: UTF8.self) == kept)
    #expect(heard.headers["apns-id"] != nil)
  }

  @Test(arguments: [1, 100, 1000])
  func bodiesWaitForTheServersWindow(window: Int) throws {
    var options = HTTP2ServerOptions()
    options.limits.streamWindowBytes = window
    let wire = try Wire(serverOptions: options)
    try wire.pump()
    let body = (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    try body.withUnsafeBytes { bytes in
      for slot in 0..<3 { _ = try wire.client.submit(wire.block, body: bytes, slot: slot) }
      try wire.pump()
    }
    for slot in 0..<3 {
      #expect(wire.recorder.heard[slot]?.body == body)
      #expect(wire.recorder.heard[slot]?.closed == [0])
    }
  }

  /// Far more one-byte DATA frames and WINDOW_UPDATEs than floods are told by, on both sides.
  @Test func windowsOfOneByteAreNoFlood() throws {
    var options = HTTP2ServerOptions()
    options.limits.streamWindowBytes = 1
    let wire = try Wire(serverOptions: options)
    try wire.pump()
    let streams = 100
    let body = [UInt8](repeating: 0x61, count: 400)
    #expect(streams * body.count > HTTP2ClientOptions().limits.maximumFramesWithoutProgress)
    #expect(streams * body.count > HTTP2ServerOptions().limits.maximumFramesWithoutProgress)
    try body.withUnsafeBytes { bytes in
      for slot in 0..<streams { _ = try wire.client.submit(wire.block, body: bytes, slot: slot) }
      try wire.pump()
    }
    let whole = (0..<streams).count { wire.recorder.heard[$0]?.body == body }
    #expect(whole == streams)
    #expect((0..<streams).allSatisfy { wire.recorder.heard[$0]?.closed == [0] })
  }

  @Test func pathAndTopicArriveAsGiven() throws {
    let wire = try Wire()
    wire.server.answers = false
    let path = Array("/3/device/abcdef".utf8)
    try path.withUnsafeBytes { bytes in
      #expect(wire.block.set(3, bytes))
      _ = try wire.client.submit(wire.block, body: .init(start: nil, count: 0), slot: 0)
      try wire.pump()
    }
    let fields = try #require(wire.server.requests[0]?.fields)
    #expect(fields.contains { $0 == (":path", "/3/device/abcdef") })
    #expect(fields.contains { $0 == ("apns-topic", "com.example.live") })
    #expect(fields.contains { $0 == (":method", "POST") })
  }

  @Test func fiftyThousandRequestsReuseTheirSlots() throws {
    var options = HTTP2ClientOptions()
    options.maximumSlots = 100
    let wire = try Wire(clientOptions: options)
    wire.recorder.keepsDetails = false
    try wire.pump()
    wire.recorder.freeSlots = Array(0..<100)
    let total = 50_000
    let body = [UInt8](repeating: 0x61, count: 300)
    var submitted = 0
    var last: Int32 = 0
    try body.withUnsafeBytes { bytes in
      while wire.recorder.closedCount < total {
        while submitted < total, let slot = wire.recorder.freeSlots.popLast() {
          last = try wire.client.submit(wire.block, body: bytes, slot: slot)
          submitted += 1
        }
        try wire.pump()
      }
    }
    #expect(wire.recorder.statusCount == total)
    #expect(wire.recorder.bodyBytes == total * 300)
    #expect(wire.client.openStreams == 0)
    #expect(wire.server.session.openStreams == 0)
    #expect(last == Int32(total * 2 - 1))
  }

  @Test func aSlotInUseIsRefusedAndFreeAfterItsClose() throws {
    let wire = try Wire()
    try wire.pump()
    wire.server.answers = false
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    _ = try wire.client.submit(wire.block, body: nothing, slot: 3)
    #expect(throws: HTTP2Error.self) {
      try wire.client.submit(wire.block, body: nothing, slot: 3)
    }
    #expect(throws: HTTP2Error.self) {
      try wire.client.submit(wire.block, body: nothing, slot: 2048)
    }
    #expect(throws: HTTP2Error.self) {
      try wire.client.submit(wire.block, body: nothing, slot: -1)
    }
    try wire.pump()
    wire.server.answer(try #require(wire.server.ended.first))
    try wire.pump()
    #expect(wire.recorder.heard[3]?.closed == [0])
    _ = try wire.client.submit(wire.block, body: nothing, slot: 3)
  }

  /// What has ended is told once, in the order of the ends; until then its slot is not free.
  @Test func endsAreHeardInTheirOrderAndOnce() throws {
    var options = HTTP2ClientOptions()
    options.maximumSlots = 2
    let wire = try Wire(clientOptions: options)
    try wire.pump()
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    var heard: [Int] = []
    for slot in [1, 0] { _ = try wire.client.submit(wire.block, body: nothing, slot: slot) }
    try wire.carry()
    #expect(wire.client.hasEnded && wire.client.openStreams == 0)
    for _ in 0..<5 {
      #expect(throws: HTTP2Error.self) {
        try wire.client.submit(wire.block, body: nothing, slot: (heard.last ?? 0) ^ 1)
      }
      // One is heard, and used again before the other is heard.
      let ended = try #require(wire.client.nextEnded())
      #expect(ended.status == 200 && ended.errorCode == 0)
      heard.append(ended.slot)
      _ = try wire.client.submit(wire.block, body: nothing, slot: ended.slot)
      #expect(wire.client.status(of: ended.slot) == 0)
      try wire.carry()
    }
    #expect(heard == [1, 0, 1, 0, 1])
    #expect(wire.client.nextEnded()?.slot == 0 && wire.client.nextEnded()?.slot == 1)
    #expect(wire.client.nextEnded() == nil && !wire.client.hasEnded)
  }

  @Test func aClientResetReportsItsCodeOnce() throws {
    let wire = try Wire()
    try wire.pump()
    wire.server.answers = false
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    let stream = try wire.client.submit(wire.block, body: nothing, slot: 0)
    try wire.pump()
    wire.client.reset(stream: stream, errorCode: HTTP2ErrorCode.cancel)
    try wire.pump()
    #expect(wire.recorder.heard[0]?.closed == [HTTP2ErrorCode.cancel])
    #expect(wire.client.openStreams == 0)
    #expect(wire.server.closedCount == 1)
  }

  @Test func aBodyMadeWhileItIsSentArrivesWhole() throws {
    final class Counting: HTTP2BodySource {
      var left = 4_000_000
      func read(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isFinal: Bool) {
        let count = min(left, buffer.count)
        for index in 0..<count { buffer[index] = 0x2e }
        left -= count
        return (count, left == 0)
      }
    }
    // Far more frames than these come; long bodies are no flood.
    var clientOptions = HTTP2ClientOptions()
    clientOptions.limits.maximumFramesWithoutProgress = 50
    var serverOptions = HTTP2ServerOptions()
    serverOptions.limits.maximumFramesWithoutProgress = 50
    let wire = try Wire(clientOptions: clientOptions, serverOptions: serverOptions)
    try wire.pump()
    wire.server.answers = false
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    _ = try wire.client.submit(wire.block, body: nothing, slot: 0)
    try wire.pump()
    let slot = try #require(wire.server.ended.first)
    let head = try HTTP2FieldBlock([(":status", "200", .indexed)])
    #expect(wire.server.session.respond(slot: slot, head, source: Counting()) == true)
    #expect(wire.server.session.respond(slot: slot, head, body: nothing) == false)
    try wire.pump()
    #expect(wire.recorder.heard[0]?.body.count == 4_000_000)
    #expect(wire.recorder.heard[0]?.closed == [0])
  }

  @Test func pingsAreAcknowledged() throws {
    let wire = try Wire()
    try wire.pump()
    wire.client.ping()
    try wire.pump()
    #expect(wire.client.pingAcknowledgements == 1)
  }
}
