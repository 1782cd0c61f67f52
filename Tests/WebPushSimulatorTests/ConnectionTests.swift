import Fixtures
import HTTP2
import Testing
import WebPushSimulator

/// Limits and ends of whole connections.
@Suite struct ConnectionTests {
  @Test func streamsAreAnnouncedAndTheScriptChangesThem() async throws {
    try await withSimulator(changed { $0.streams = 50 }) { _, bench in
      let client = try await bench.connect()
      #expect(client.streamLimits == [50])
      var script = WebPushSimulatorScript()
      script.streams = 7
      await bench.simulator.replaceScript(script)
      await client.until { $0.streamLimits.count == 2 }
      #expect(client.streamLimits == [50, 7])
    }
  }

  @Test func aClientThatKeepsToTheLimitGetsAllAnswers() async throws {
    try await withSimulator(scripted { $0.latency = .milliseconds(10) }) { _, bench in
      let client = try await bench.connect()
      let slots = try await (0..<500).asyncMap { number in
        let subscription = try await bench.simulator.numberedSubscription(
          number, host: Host.mozilla)
        return try client.start(bench.sender.request(subscription))
      }
      for slot in slots { #expect(await client.reply(to: slot).status == 201) }
      let summary = await bench.simulator.summary()
      #expect(summary.accepted == 500 && summary.subscriptionsAccepted == 500)
      #expect(summary.duplicates == 0 && summary.mostOpenStreams <= 100)
      #expect(summary.http1Connections == 0 && summary.connections == 1)
    }
  }

  @Test func goAwayComesAfterItsMessagesWithTheLastStream() async throws {
    try await withSimulator(
      scripted {
        $0.connections.goAwayAfter = 10
        $0.connections.goAwayBehind = 3
      }
    ) { _, bench in
      let client = try await bench.connect()
      var requests: [PushRequest] = []
      for number in 0..<12 {
        let subscription = try await bench.simulator.numberedSubscription(
          number, host: Host.google)
        requests.append(try bench.sender.request(subscription))
      }
      let slots = try requests.map { try client.start($0) }
      await client.until { $0.isLost }
      #expect(client.goAways.map(\.lastStreamID) == [13])
      for (index, slot) in slots.enumerated() {
        #expect(await client.reply(to: slot).status == (index < 7 ? 201 : 0))
      }
      #expect(await bench.simulator.summary().requests == 7)
      let next = try await bench.connect()
      #expect(try await next.send(requests[7]).status == 201)
    }
  }

  @Test func connectionsDropAndFallSilentByScript() async throws {
    try await withSimulator(
      scripted {
        $0.connections.silentAfter = 2
        $0.connections.dropAfter = 4
      }
    ) { _, bench in
      let client = try await bench.connect()
      let subscription = try await bench.simulator.makeSubscription(host: Host.apple)
      let request = try bench.sender.request(subscription)
      #expect(try await client.send(request).status == 201)
      let slots = try (1..<4).map { _ in try client.start(request) }
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
}

extension Sequence {
  /// One after the other.
  fileprivate func asyncMap<T>(_ transform: (Element) async throws -> T) async rethrows -> [T] {
    var all: [T] = []
    for element in self { all.append(try await transform(element)) }
    return all
  }
}
