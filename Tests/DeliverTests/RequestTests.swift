import EventLoop
import Fixtures
import Model
import Testing
import Transport

@testable import Deliver

/// What stands in each request: the push that was asked for, the whole of it, and nothing else's.
@Suite struct RequestTests {
  private struct Kind {
    let event: String
    let headers: PushHeaders
    let tokens: [String]
  }

  private func kinds(_ clock: ManualClock) -> [Kind] {
    let now = clock.milliseconds.load(ordering: .relaxed)
    let first = PushHeaders(
      pushType: .alert, priority: 10, topic: "com.example.one", collapseID: "first",
      expiration: 1_700_000_600, expiresAt: now + 600_000)
    let second = PushHeaders(
      pushType: .alert, priority: 5, topic: "com.example.two", collapseID: nil,
      expiration: 0, expiresAt: now + 500_000)
    let third = PushHeaders(
      pushType: .alert, priority: 10, topic: "com.example.one", collapseID: "third",
      expiration: 1_700_000_700, expiresAt: now + 700_000)
    return [first, second, third].enumerated().map { number, headers in
      Kind(
        event: "event-\(number)", headers: headers,
        tokens: hexadecimal(150).map { "0\(number)" + $0 })
    }
  }

  @Test func eachPushIsSentWithItsOwnHeadersAndPayload() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.options.maximumConcurrentStreams = 40 })
      defer { bed.stop() }
      // Every third comes twice, so that pushes that come back mix with new ones.
      bed.server.decide = { [unowned server = bed.server] in
        $0.token.hasSuffix("3") && server.count($0.token) == 1 ? .answer(503) : .answer(200)
      }
      let kinds = kinds(bed.clock)
      var identifiers: [String: String] = [:]
      // Interleaved, in batches of fifty.
      for first in stride(from: 0, to: 150, by: 50) {
        for kind in kinds {
          let tokens = kind.tokens[first..<first + 50]
          let batch = bed.batch(
            tokens.map { (.production, $0) }, bed.tally, kind.headers, event: kind.event)
          for entry in batch.entries {
            identifiers[batch.bytes.string(entry.token)] = batch.bytes.string(entry.apnsID)
          }
          await bed.stage.admit(batch)
        }
      }
      await bed.until("settled") { bed.settledBatches == 9 }
      #expect(bed.tally.accepted == 450 && Set(identifiers.values).count == 450)
      #expect(Set(bed.server.requests.map(\.token)).count == 450)
      for request in bed.server.requests {
        let kind = try #require(kinds.first { $0.tokens.contains(request.token) })
        #expect(problem(of: request, kind, identifiers[request.token], bed) == nil)
      }
    }
  }

  /// The first field that is not as it should be.
  private func problem(
    of request: FakeServer.Request, _ kind: Kind, _ identifier: String?, _ bed: DeliverBed
  ) -> String? {
    var wanted = [
      ":method": "POST", ":scheme": "https", ":authority": "127.0.0.1:\(bed.server.port)",
      ":path": "/3/device/" + request.token, "apns-id": identifier,
      "apns-topic": kind.headers.topic, "apns-push-type": kind.headers.pushType.rawValue,
      "apns-priority": String(kind.headers.priority),
      "apns-expiration": String(kind.headers.expiration),
    ]
    if let collapseID = kind.headers.collapseID { wanted["apns-collapse-id"] = collapseID }
    for (name, value) in wanted where request[name] != value {
      return "\(name): \(request[name] ?? "nothing") for \(value ?? "nothing")"
    }
    guard request.authorization.hasPrefix("bearer ") else { return "authorization" }
    let names = Set(request.fields.map(\.name)).subtracting(wanted.keys)
    guard names.isSubset(of: ["authorization", "content-length"]) else { return "\(names)" }
    let body = #"{"aps":{"alert":"\#(kind.event) \#(request.token)"}}"#
    return request.body == body ? nil : "body: \(request.body)"
  }

  @Test func eachEnvironmentHasItsOwnHost() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, sandbox: .served)
      defer { bed.stop() }
      let production = hexadecimal(100)
      let sandbox = production.map { "aa" + $0 }
      let devices =
        production.map { (destination: Destination.production, token: $0) }
        + sandbox.map { (destination: Destination.sandbox, token: $0) }
      await bed.stage.admit(bed.batch(devices, bed.tally))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.server.requests.map(\.token).sorted() == production.sorted())
      #expect(bed.sandbox.requests.map(\.token).sorted() == sandbox.sorted())
      #expect(bed.tally.accepted == 200 && bed.tally.accepted(at: .sandbox) == 100)
    }
  }

  /// Its certificate is for 127.0.0.1, which is where "localhost" leads as well.
  @Test func aServerThatIsNotWhoItShouldBeGetsNothing() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { options in
        guard let route = options.routes[.production] else { return }
        let endpoint = Endpoint(host: "localhost", port: route.endpoint.port)
        options.routes[.production] = RouteTarget(endpoint: endpoint, tls: route.tls)
        options.closedAfter = .milliseconds(100)
      }
      defer { bed.stop() }
      await bed.stage.admit(bed.batch(hexadecimal(10)))
      // On a busy machine the route is closed before the first connection has failed.
      await bed.until("closed, and why") {
        bed.stage.obstacles.map(\.kind) == [.unreachable] && bed.notices.disconnects > 0
      }
      #expect(bed.stage.openConnections == 0)
      #expect(bed.server.requests.isEmpty && bed.tally.unsent == 0)
      #expect("\(bed.stage.obstacles)".contains("localhost"))
    }
  }

  @Test func aPushWithoutARouteIsRejectedAndTheRestIsSent() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      await bed.stage.admit(
        bed.batch([(.sandbox, "00aa"), (.production, "00bb"), (.sandbox, "00cc")], bed.tally))
      await bed.stage.admit(bed.batch([(.sandbox, "00dd")], bed.tally))
      await bed.until("settled") { bed.settledBatches == 2 }
      #expect(bed.tally.accepted == 1 && bed.tally.unsent == 0)
      #expect(bed.tally.rejections.map(\.reason) == [.noRoute])
      #expect(bed.tally.rejections.map(\.count) == [3])
      #expect(bed.server.requests.map(\.token) == ["00bb"])
    }
  }

  @Test func nothingIsSentAtOrAfterItsExpiry() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      await bed.until("open") { bed.stage.openConnections == 2 }
      await bed.stage.admit(bed.batch(hexadecimal(10), expiresIn: 0))
      await bed.stage.admit(bed.batch(hexadecimal(10), expiresIn: -1))
      await bed.stage.admit(bed.batch(["00aa"], expiresIn: 1))
      await bed.until("settled") { bed.settledBatches == 3 }
      #expect(bed.tally.expired == 20)
      #expect(bed.server.requests.map(\.token) == ["00aa"])
    }
  }

  @Test func aHeaderThatHoldsALineBreakIsNotSent() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      let headers = PushHeaders(
        pushType: .alert, priority: 10, topic: "a.b", collapseID: "a\r\nb", expiration: 0,
        expiresAt: .max)
      await bed.stage.admit(bed.batch([(.production, "00aa")], bed.tally, headers))
      await bed.stage.admit(bed.batch(["00bb"]))
      await bed.until("settled") { bed.settledBatches == 2 }
      #expect(bed.tally.rejections.map(\.reason) == [.unrenderable])
      #expect(bed.server.requests.map(\.token) == ["00bb"] && bed.tally.unsent == 0)
    }
  }
}
