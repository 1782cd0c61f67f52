import Fixtures
import HTTPServer
import JSON
import Testing

@testable import API

/// The dashboard's page and its views over HTTP.
@Suite struct DashboardRoutesTests {
  private static func enter(_ event: String, in bed: APIBed) throws {
    _ = try bed.redis.server.cli("XADD", "ff:{stats}:fanouts", "*", "event", event)
    _ = try bed.redis.server.cli(
      "HSET", "ff:{e:\(event)}", "state", "running", "segments", "2", "template", "go-live")
  }

  private static func stream(
    _ bed: APIBed, _ target: String, as scope: APIScope = .readOnly
  ) throws -> RawClient {
    let client = try RawClient(port: bed.port)
    client.send(
      "GET \(target) HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n"
        + "Authorization: Bearer \(bed.key(scope))\r\n\r\n")
    return client
  }

  private static func page(_ bed: APIBed, _ target: String, _ headers: String = "") throws -> String
  {
    let client = try RawClient(port: bed.port)
    client.send("GET \(target) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(headers)\r\n")
    return try #require(client.readToEnd())
  }

  @Test func thePageNeedsNoKeyAndIsKeptByBrowsers() async throws {
    try await APIBed.run { bed in
      let page = try Self.page(bed, "/")
      #expect(page.hasPrefix("HTTP/1.1 200 OK\r\n") && page.contains("<!doctype html>"))
      #expect(page.contains("\r\nContent-Type: text/html; charset=utf-8\r\n"))
      #expect(page.contains("\r\nCache-Control: no-cache\r\n"))
      #expect(page.contains("\r\nContent-Security-Policy: default-src 'self';"))
      let tag = try #require(page.firstMatch(of: /\r\nETag: (\S+)\r\n/)?.1)
      let again = try Self.page(bed, "/", "If-None-Match: \(tag)\r\n")
      #expect(again.hasPrefix("HTTP/1.1 304 Not Modified\r\n") && again.hasSuffix("\r\n\r\n"))
      #expect(!again.contains("Content-Length"))
      let script = try Self.page(bed, "/dashboard/app.js")
      #expect(script.contains("\r\nContent-Type: text/javascript; charset=utf-8\r\n"))
      #expect(try bed.ask("GET", "/dashboard/other.js", as: nil).status == 404)
      let config = try bed.ask("GET", "/dashboard/config", as: nil)
      #expect(config["mode"]?.string == "api" && config["needs_key"]?.bool == true)
      #expect(config["can_act"]?.bool == true)
    }
  }

  @Test func viewsNeedAKey() async throws {
    try await APIBed.run { bed in
      for view in ["fanouts", "fanouts/e1", "health", "templates"] {
        #expect(try bed.ask("GET", "/v1/live/\(view)", as: nil).status == 401)
      }
      try Self.enter("e1", in: bed)
      let list = try bed.ask("GET", "/v1/live/fanouts?limit=5", as: .readOnly)
      #expect(list["fanouts"]?.array?.first?.object?["event"]?.string == "e1")
      let one = try bed.ask("GET", "/v1/live/fanouts/e1", as: .readOnly)
      #expect(one["template"]?.string == "go-live" && one["funnel"]?.array?.count == 6)
      #expect(try bed.ask("GET", "/v1/live/fanouts/e2", as: .readOnly).status == 404)
      #expect(try bed.ask("GET", "/v1/live/fanouts?limit=0", as: .readOnly).status == 422)
      #expect(try bed.ask("GET", "/v1/live/health", as: .readOnly)["workers"]?.array == [])
      #expect(try bed.ask("GET", "/v1/live/templates", as: .readOnly)["templates"] == .null)
      let forUser = "/v1/live/templates?user=u1"
      #expect(try bed.ask("GET", forUser, as: .readOnly).status == 403)
      #expect(try bed.ask("GET", forUser, as: .appServer).status == 200)
      #expect(try bed.ask("GET", "/v1/live/templates?event=e1", as: .readOnly).status == 404)
    }
  }

  @Test func aStreamShowsChangesAndSaysWhenTheServerGoes() async throws {
    var client: RawClient?
    try await APIBed.run { bed in
      try Self.enter("e1", in: bed)
      let stream = try Self.stream(bed, "/v1/live/fanouts")
      client = stream
      let head = try #require(stream.read(until: "\"event\":\"e1\""))
      #expect(head.contains("\r\nContent-Type: text/event-stream\r\n"))
      #expect(head.contains("\r\nCache-Control: no-store\r\n") && head.contains("event: state\n"))
      _ = try bed.redis.server.cli("HSET", "ff:{e:e1}", "pushes", "7331")
      #expect(stream.read(until: "\"pushes\":7331") != nil)
      let metrics = await bed.server.metrics().text
      #expect(metrics.contains("\nfanfare_dashboard_viewers 1\n"))
    }
    // The server has stopped.
    #expect(client?.readToEnd()?.contains("event: gone\ndata: {}\n\n") == true)
  }

  @Test func oneKeyKeepsNoOtherKeyFromWatching() async throws {
    // As many connections as 64 streams need.
    try await APIBed.run({ $0.http.maximumConnections = 128 }) { bed in
      let view = "/v1/live/health"
      func open(as scope: APIScope) throws -> (client: RawClient, isOpen: Bool) {
        let client = try Self.stream(bed, view, as: scope)
        let head = try #require(client.read(until: "\r\n\r\n"))
        return (client, head.hasPrefix("HTTP/1.1 200 "))
      }
      var streams = try (0..<16).map { _ in try open(as: .readOnly) }
      for stream in streams { #expect(stream.isOpen) }
      let refused = try #require(try Self.stream(bed, view).read(until: "\"request_id\""))
      #expect(refused.hasPrefix("HTTP/1.1 429 ") && refused.contains("\r\nRetry-After: 5\r\n"))
      #expect(refused.contains("16 event streams of key-read-only are open"))
      // Who does not stay may look all the same.
      #expect(try bed.ask("GET", view, as: .readOnly).status == 200)
      #expect(try open(as: .admin).isOpen)
      // The server notices soon that the client has gone.
      streams.removeLast()
      while try !open(as: .readOnly).isOpen { await Task.yield() }
    }
  }

  @Test func aPauseNamesTheKeyThatAskedForIt() async throws {
    try await APIBed.run { bed in
      try Self.enter("e1", in: bed)
      let paused = try bed.ask("POST", "/v1/fanouts/e1/pause", #"{"reason":"typo"}"#)
      #expect(paused.status == 200 && paused["brake_by"]?.string == "key-admin")
      let one = try bed.ask("GET", "/v1/live/fanouts/e1")
      #expect(one["halted_by"]?.string == "key-admin" && one["state_why"]?.string == "typo")
    }
  }

  /// `fanfare dashboard`: whoever reaches it looks, and nobody changes anything.
  @Test func withRedisAloneNothingCanBeChanged() async throws {
    try await APIBed.run({ $0.mode = .dashboard(needsKey: false) }) { bed in
      try Self.enter("e1", in: bed)
      func ask(_ method: String, _ target: String, _ host: String) throws -> String {
        let client = try RawClient(port: bed.port)
        client.send("\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
        return try #require(client.readToEnd())
      }
      #expect(try ask("GET", "/dashboard/config", "a").contains("\"mode\":\"dashboard\""))
      for name in ["127.0.0.1:8090", "localhost", "[::1]:8090"] {
        let list = try ask("GET", "/v1/live/fanouts", name)
        #expect(list.hasPrefix("HTTP/1.1 200 ") && list.contains("\"event\":\"e1\""), "\(name)")
      }
      // A name of another site may lead here.
      for name in ["a", "127.0.0.1.evil.example", "evil.example:8090"] {
        #expect(try ask("GET", "/v1/live/fanouts", name).hasPrefix("HTTP/1.1 403 "), "\(name)")
      }
      #expect(try ask("GET", "/v1/fanouts/e1", "localhost").hasPrefix("HTTP/1.1 200 "))
      for target in ["/v1/fanouts/e1/cancel", "/v1/fanouts"] {
        #expect(try !ask("POST", target, "localhost").hasPrefix("HTTP/1.1 2"), "\(target)")
      }
      #expect(try ask("DELETE", "/v1/users/u1", "localhost").hasPrefix("HTTP/1.1 405 "))
      #expect(await bed.server.health().map(\.name) == ["redis"])
      #expect(await bed.server.routes.allSatisfy { $0.method == "GET" })
    }
  }

  @Test func withKeysTheDashboardAsksForOne() async throws {
    try await APIBed.run({ $0.mode = .dashboard(needsKey: true) }) { bed in
      let stranger = try bed.ask("GET", "/v1/live/fanouts", as: nil)
      #expect(stranger.status == 401)
      #expect(try bed.ask("GET", "/v1/live/fanouts", as: .readOnly).status == 200)
      #expect(await bed.server.health().map(\.name) == ["redis", "keys"])
    }
  }
}
