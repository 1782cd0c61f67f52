import HTTP2
import Testing

@Suite struct ConnectionTests {
  private let nothing = UnsafeRawBufferPointer(start: nil, count: 0)

  @Test func limitsOfThePeerAreRead() throws {
    var options = HTTP2ServerOptions()
    options.maximumConcurrentStreams = 17
    let wire = try Wire(serverOptions: options)
    #expect(wire.client.remoteMaxConcurrentStreams == 1)
    #expect(!wire.client.settingsReceived)
    try wire.pump()
    #expect(wire.client.settingsReceived)
    #expect(wire.client.remoteMaxConcurrentStreams == 17)
    #expect(wire.client.remoteConnectionWindow == 8 << 20)
  }

  @Test func theStreamLimitChangesInTheMiddle() throws {
    var options = HTTP2ServerOptions()
    options.maximumConcurrentStreams = 1
    let wire = try Wire(serverOptions: options)
    try wire.pump()
    wire.server.answers = false
    for (limit, expected) in [(1000, 1000), (1, 1), (0, 0), (50, 50)] {
      wire.server.session.setMaximumConcurrentStreams(limit)
      try wire.pump()
      #expect(wire.client.remoteMaxConcurrentStreams == expected)
      wire.server.openMaximum = 0
      for slot in 0..<min(limit + 5, 60) where limit > 0 {
        _ = try wire.client.submit(wire.block, body: nothing, slot: slot)
      }
      while !wire.server.requests.isEmpty || wire.client.openStreams > 0 {
        try wire.pump()
        for slot in Array(wire.server.requests.keys) { wire.server.answer(slot) }
      }
      #expect(wire.server.openMaximum <= max(limit, 0))
    }
    #expect(wire.recorder.heard.values.allSatisfy { $0.closed.allSatisfy { $0 == 0 } })
  }

  /// A request that is taken back in the same piece in which it came: the next one gets a slot of
  /// its own, and no answer of the other.
  @Test func aServersSlotIsFreeWhenItsEndWasHeard() throws {
    let wire = try Wire()
    try wire.pump()
    let server = wire.server.session
    func send() throws {
      while let bytes = try wire.client.nextOutput() { try server.receive(bytes) }
    }
    let first = try wire.client.submit(wire.block, body: nothing, slot: 0)
    try send()
    wire.client.reset(stream: first, errorCode: HTTP2ErrorCode.cancel)
    try send()
    let second = try wire.client.submit(wire.block, body: nothing, slot: 1)
    try send()
    #expect(server.openStreams == 1)
    var began: [Int32: Int] = [:]
    var ended: [Int] = []
    var closed: [Int] = []
    while let heard = server.nextHeard() {
      switch heard {
      case .began(let slot, let stream): began[stream] = slot
      case .ended(let slot):
        ended.append(slot)
        if ended.count == 1 {
          let head = try HTTP2FieldBlock([(":status", "200", .indexed)])
          #expect(!server.respond(slot: slot, head, body: nothing))
        }
      case .closed(let slot, let errorCode):
        closed.append(slot)
        #expect(errorCode == HTTP2ErrorCode.cancel)
      default: continue
      }
    }
    let slots = [try #require(began[first]), try #require(began[second])]
    #expect(slots[0] != slots[1])
    #expect(ended == slots && closed == [slots[0]])
    // Now it is free.
    _ = try wire.client.submit(wire.block, body: nothing, slot: 2)
    try send()
    guard case .began(let third, _)? = server.nextHeard() else {
      Issue.record("no third request")
      return
    }
    #expect(third == slots[0])
  }

  @Test func refusedStreamsAreReportedAsRefused() throws {
    let wire = try Wire()
    try wire.pump()
    wire.server.answers = false
    for slot in 0..<10 { _ = try wire.client.submit(wire.block, body: nothing, slot: slot) }
    try wire.pump()
    for slot in wire.server.ended {
      wire.server.session.reset(slot: slot, errorCode: HTTP2ErrorCode.refusedStream)
    }
    try wire.pump()
    for slot in 0..<10 {
      #expect(wire.recorder.heard[slot]?.closed == [HTTP2ErrorCode.refusedStream])
      #expect(wire.recorder.heard[slot]?.status == 0)
    }
    #expect(wire.client.openStreams == 0)
  }

  @Test func goAwaySplitsAtTheLastStream() throws {
    let wire = try Wire()
    try wire.pump()
    wire.server.answers = false
    var streams: [Int32] = []
    for slot in 0..<10 {
      streams.append(try wire.client.submit(wire.block, body: nothing, slot: slot))
    }
    try wire.pump()
    // Not yet seen by the server when the GOAWAY arrives.
    streams.append(try wire.client.submit(wire.block, body: nothing, slot: 10))
    let reason = Array(#"{"reason":"Shutdown"}"#.utf8)
    reason.withUnsafeBytes {
      wire.server.session.goAway(
        lastStreamID: streams[4], errorCode: HTTP2ErrorCode.noError, debug: $0)
    }
    try wire.pump()
    #expect(wire.recorder.goAways.map(\.last) == [streams[4]])
    #expect(wire.recorder.goAways.first?.debug == #"{"reason":"Shutdown"}"#)
    for slot in 5...10 {
      #expect(wire.recorder.heard[slot]?.closed == [HTTP2ErrorCode.refusedStream])
    }
    #expect(wire.client.openStreams == 5)
    #expect(throws: HTTP2Error.self) {
      try wire.client.submit(wire.block, body: nothing, slot: 20)
    }
    for slot in Array(wire.server.requests.keys) { wire.server.answer(slot) }
    try wire.pump()
    for slot in 0..<5 {
      #expect(wire.recorder.heard[slot]?.closed == [0])
      #expect(wire.recorder.heard[slot]?.status == 200)
    }
    #expect(wire.client.openStreams == 0)
    #expect(!wire.client.wantsIO)
  }

  /// A session that ends by what comes behind a GOAWAY has heard the GOAWAY.
  @Test func aGoAwayIsHeardThoughAFloodFollows() throws {
    let wire = try Wire()
    try wire.pump()
    wire.server.answers = false
    _ = try wire.client.submit(wire.block, body: nothing, slot: 0)
    try wire.pump()
    wire.server.session.goAway(
      lastStreamID: 7, errorCode: HTTP2ErrorCode.noError, debug: nothing)
    var bytes: [UInt8] = []
    while let output = try wire.server.session.nextOutput() { bytes += Array(output) }
    for _ in 0..<1000 { wire.server.session.ping() }
    while let output = try wire.server.session.nextOutput() { bytes += Array(output) }
    #expect(throws: HTTP2Error.self) {
      try bytes.withUnsafeBytes { try wire.client.receive($0) }
    }
    #expect(wire.client.takeGoAway()?.lastStreamID == 7)
  }

  /// One that waited for its turn, and one that a GOAWAY forbade: no server has seen them.
  @Test(arguments: [true, false])
  func aRequestThatNeverLeftSaysSo(isReset: Bool) throws {
    var options = HTTP2ServerOptions()
    options.maximumConcurrentStreams = 1
    let wire = try Wire(serverOptions: options)
    try wire.pump()
    wire.server.answers = false
    _ = try wire.client.submit(wire.block, body: nothing, slot: 0)
    let second = try wire.client.submit(wire.block, body: nothing, slot: 1)
    #expect(!wire.client.hasLeft(slot: 0))
    try wire.carry()
    #expect(wire.client.hasLeft(slot: 0) && !wire.client.hasLeft(slot: 1))
    #expect(!wire.client.hasLeft(slot: 2))
    if isReset {
      wire.client.reset(stream: second, errorCode: HTTP2ErrorCode.cancel)
    } else {
      wire.server.session.goAway(
        lastStreamID: second, errorCode: HTTP2ErrorCode.noError, debug: nothing)
    }
    try wire.carry()
    #expect(wire.client.nextEnded() == nil)
    wire.server.answer(0)
    try wire.carry()
    let first = try #require(wire.client.nextEnded())
    #expect(first.slot == 0 && first.wasSent && first.status == 200)
    let last = try #require(wire.client.nextEnded())
    #expect(last.slot == 1 && !last.wasSent && last.status == 0)
    #expect(
      last.errorCode == (isReset ? HTTP2ErrorCode.cancel : HTTP2ErrorCode.refusedStream))
    // The slot's next request is another one.
    guard isReset else { return }
    _ = try wire.client.submit(wire.block, body: nothing, slot: 1)
    try wire.carry()
    wire.server.answer(wire.server.ended.last ?? 0)
    try wire.carry()
    #expect(wire.client.nextEnded()?.wasSent == true)
  }

  @Test func anAbandonedSessionSaysNothingMore() throws {
    let wire = try Wire()
    try wire.pump()
    wire.server.answers = false
    _ = try wire.client.submit(wire.block, body: nothing, slot: 0)
    try wire.pump()
    wire.client.abandon()
    #expect(wire.recorder.closedCount == 0)
    #expect(!wire.client.wantsIO)
    #expect(throws: HTTP2Error.self) { try wire.client.nextOutput() }
    #expect(throws: HTTP2Error.self) {
      try wire.client.submit(wire.block, body: nothing, slot: 1)
    }
  }

  @Test func theServersLimitHoldsAgainstAClientThatIgnoresIt() throws {
    var clientOptions = HTTP2ClientOptions()
    clientOptions.assumedMaximumStreams = 100
    var serverOptions = HTTP2ServerOptions()
    serverOptions.maximumConcurrentStreams = 1
    let wire = try Wire(clientOptions: clientOptions, serverOptions: serverOptions)
    wire.server.answers = false
    for slot in 0..<5 { _ = try wire.client.submit(wire.block, body: nothing, slot: slot) }
    try wire.pump()
    let refused = (0..<5).filter {
      wire.recorder.heard[$0]?.closed == [HTTP2ErrorCode.refusedStream]
    }
    #expect(refused.count == 4)
  }
}
