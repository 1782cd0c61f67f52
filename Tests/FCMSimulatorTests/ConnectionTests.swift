import FCMSimulator
import HTTP2
import Testing

@testable import FCMSimulator

/// Limits and ends of whole connections.
@Suite struct ConnectionTests {
  @Test func aHundredStreamsAreAnnounced() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      #expect(client.streamLimits == [100])
      var script = FCMSimulatorScript()
      script.streams = 7
      await bench.simulator.replaceScript(script)
      await client.until { $0.streamLimits.count == 2 }
      #expect(client.streamLimits == [100, 7])
    }
  }

  @Test func aClientThatKeepsToTheLimitGetsAllAnswers() async throws {
    try await withSimulator(scripted { $0.latency = .milliseconds(20) }) { _, bench in
      let (client, authorization) = try await bench.authorized()
      let slots = try (0..<1000).map {
        try client.start(Request(token: "t\($0)", authorization: authorization))
      }
      for slot in slots { #expect(await client.reply(to: slot).status == 200) }
      #expect(client.goAways.isEmpty)
      let summary = await bench.simulator.summary()
      #expect(summary.accepted == 1000 && summary.tokensAccepted == 1000)
      #expect(summary.duplicates == 0 && summary.streamExcesses == 0)
      #expect(summary.mostOpenStreams == 100)
    }
  }

  @Test func moreThanTwiceAsManyBeforeTheSettingsEndTheConnection() async throws {
    try await withSimulator(scripted { $0.latency = .milliseconds(50) }) { _, bench in
      let other = try await bench.connect()
      let authorization = try await bench.authorize(other)
      let client = try bench.dial(assumedStreams: 1000)
      let slots = try (0..<250).map {
        try client.start(Request(token: "t\($0)", authorization: authorization))
      }
      await client.until { $0.isLost }
      let goAway = try #require(client.goAways.first)
      #expect(goAway.errorCode == HTTP2ErrorCode.protocolError)
      #expect(goAway.debug == Array("exceeded_max_concurrent_streams".utf8))
      // The heads of all came before the first body, so that nothing was processed.
      #expect(goAway.lastStreamID == 0)
      for slot in slots { #expect(await client.reply(to: slot).status == 0) }
      let summary = await bench.simulator.summary()
      #expect(summary.requests == 0 && summary.streamExcesses == 1)
      #expect(summary.mostOpenStreams == 200)
    }
  }

  @Test func twiceAsManyBeforeTheSettingsAreBorneWith() async throws {
    try await withSimulator(scripted { $0.latency = .milliseconds(50) }) { _, bench in
      let other = try await bench.connect()
      let authorization = try await bench.authorize(other)
      let client = try bench.dial(assumedStreams: 1000)
      let slots = try (0..<200).map {
        try client.start(Request(token: "t\($0)", authorization: authorization))
      }
      for slot in slots { #expect(await client.reply(to: slot).status == 200) }
      #expect(client.goAways.isEmpty)
    }
  }

  @Test func goAwayComesAfterItsMessagesWithTheLastStream() async throws {
    try await withSimulator(
      scripted {
        $0.goAwayAfter = 10
        $0.goAwayBehind = 3
      }
    ) { _, bench in
      let (client, authorization) = try await bench.authorized()
      let slots = try (0..<12).map {
        try client.start(Request(token: "t\($0)", authorization: authorization))
      }
      await client.until { $0.isLost }
      // Stream 1 asked for the access token.
      #expect(client.goAways.map(\.lastStreamID) == [15])
      #expect(client.goAways.map(\.errorCode) == [HTTP2ErrorCode.noError])
      for (index, slot) in slots.enumerated() {
        let reply = await client.reply(to: slot)
        #expect(reply.status == (index < 7 ? 200 : 0))
      }
      #expect(await bench.simulator.summary().requests == 7)
      let (next, _) = try await bench.authorized()
      let reply = try await next.send(Request(token: "t8", authorization: authorization))
      #expect(reply.status == 200)
    }
  }

  @Test func connectionsDropAndFallSilentByScript() async throws {
    try await withSimulator(
      scripted {
        $0.silentAfter = 2
        $0.dropAfter = 4
      }
    ) { _, bench in
      let (client, authorization) = try await bench.authorized()
      let first = try await client.send(Request(token: "t0", authorization: authorization))
      #expect(first.status == 200)
      let slots = try (1..<4).map {
        try client.start(Request(token: "t\($0)", authorization: authorization))
      }
      await client.until { $0.isLost }
      for slot in slots { #expect(await client.reply(to: slot).status == 0) }
      let summary = await bench.simulator.summary()
      #expect(summary.requests == 3 && summary.unanswered == 2)
    }
  }

  @Test func idleConnectionsAreClosed() async throws {
    try await withSimulator(changed { $0.idleTimeout = .milliseconds(40) }) { _, bench in
      let client = try await bench.connect()
      await client.until { $0.isLost }
      #expect(client.goAways.map(\.errorCode) == [HTTP2ErrorCode.noError])
    }
  }

  @Test func anAcknowledgementIsFoundInPiecesOfAnySize() {
    let preface = [UInt8](repeating: 0x50, count: 24)
    let settings: [UInt8] = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 4, 1]
    let data: [UInt8] = [0, 0, 9, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 1, 0, 0, 0, 0]
    let acknowledgement: [UInt8] = [0, 0, 0, 4, 1, 0, 0, 0, 0]
    let input = preface + settings + data + acknowledgement
    for size in 1...input.count {
      var frames = FrameHeads()
      var found: [Int] = []
      for start in stride(from: 0, to: input.count, by: size) {
        let piece = Array(input[start..<min(start + size, input.count)])
        let isFound = piece.withUnsafeBytes { frames.findAcknowledgement(in: $0) }
        if isFound { found.append(start + piece.count) }
      }
      #expect(found == [input.count], "pieces of \(size)")
    }
  }
}
