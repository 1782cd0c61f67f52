import EventLoop
import Fixtures
import Glibc
import JSON
import Telemetry
import Testing

@testable import API

/// Who may ask, and how every answer looks.
@Suite struct APIServiceTests {
  @Test func withoutAKeyNothingIsSaid() async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask("GET", "/v1/users/u1", as: nil)
      #expect(answer.status == 401)
      #expect(answer.problem == "unauthenticated")
      #expect(answer.head.contains("WWW-Authenticate: Bearer"))
      #expect(answer.head.contains("Content-Type: application/problem+json"))
    }
  }

  @Test func whoTriesAgainAndAgainPaysAConnectionForEach() async throws {
    try await APIBed.run { bed in
      let client = try RawClient(port: bed.port)
      var answered = 0
      // 20 at once and one a second are taken; the machine may be slow.
      while answered < 100 {
        client.send("GET /v1/users/u HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n\r\n")
        guard client.read(until: "\r\n\r\n{") != nil else { break }
        answered += 1
      }
      #expect((20..<100).contains(answered))
      #expect(try bed.ask("GET", "/v1/users/u/devices").status == 200)
    }
  }

  @Test(arguments: [
    ("GET", "/v1/users/u/devices", APIScope.readOnly, 200),
    ("DELETE", "/v1/users/u", .readOnly, 403),
    ("DELETE", "/v1/users/u", .appServer, 200), ("POST", "/v1/fanouts/e/pause", .appServer, 403),
    ("POST", "/v1/fanouts/e/pause", .admin, 404), ("POST", "/v1/fanouts", .readOnly, 403),
  ])
  func aKeyMayWhatItsScopeSays(
    _ method: String, _ target: String, _ scope: APIScope, _ status: Int
  ) async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask(method, target, as: scope)
      #expect(answer.status == status)
    }
  }

  @Test func keysAreReplaced() async throws {
    try await APIBed.run { bed in
      await bed.server.use(try APIKeyRing(text: ""))
      // Of two threads.
      for _ in 0..<20 {
        let answer = try bed.ask("GET", "/v1/users/u")
        #expect(answer.status == 401)
      }
    }
  }

  @Test func whoComesIsSharedOutAndCountedTogether() async throws {
    try await APIBed.run({ $0.threads = 3 }) { bed in
      for _ in 0..<60 {
        let answer = try bed.ask("GET", "/v1/users/u/devices")
        #expect(answer.status == 200)
      }
      let counts = await bed.server.answeredByEach
      #expect(counts.count == 3)
      #expect(counts.allSatisfy { $0 > 0 })
      #expect(counts.reduce(0, +) == 60)
      let text = await bed.server.metrics().text
      #expect(
        text.contains(
          #"{route="/v1/users/{user}/devices",method="GET",status="200"} 60"#))
    }
  }

  @Test func allThreadsTogetherTakeWhatAKeyMaySend() async throws {
    try await APIBed.run({
      $0.threads = 4
      $0.requestsPerSecond = 2
    }) { bed in
      let began = EventLoop.monotonicNanoseconds()
      var taken = 0
      for _ in 0..<40 where try bed.ask("GET", "/v1/users/u/devices").status == 200 { taken += 1 }
      let seconds = Double(EventLoop.monotonicNanoseconds() - began) / 1_000_000_000
      #expect(taken >= 2)
      #expect(Double(taken) <= 2 + 2 * seconds)
    }
  }

  @Test func tooManyAreToldWhenToComeAgain() async throws {
    try await APIBed.run({ $0.requestsPerSecond = 1 }) { bed in
      var statuses: [Int] = []
      for _ in 0..<8 {
        let answer = try bed.ask("GET", "/v1/users/u/devices")
        statuses.append(answer.status)
        if answer.status == 429 {
          #expect(answer.head.contains("Retry-After: 1"))
          #expect(try bed.ask("GET", "/v1/users/u/devices", as: .readOnly).status == 200)
          break
        }
      }
      #expect(statuses.first == 200)
      #expect(statuses.last == 429)
    }
  }

  @Test(arguments: [
    ("GET", "/other", 404), ("GET", "/v1/users/u/", 404), ("PATCH", "/v1/users/u", 405),
    ("TRACE", "/v1/users/u", 405), ("GET", "/v1/users/u?a=b", 400),
    ("GET", "/v1/fanouts?limit=0", 422), ("GET", "/v1/fanouts?limit=1&limit=2", 400),
    ("GET", "/v1/users/..%2F../devices", 200), ("GET", "/v1/users/u", 404),
  ])
  func otherPathsAreProblems(_ method: String, _ target: String, _ status: Int) async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask(method, target)
      #expect(answer.status == status)
      if status == 405 { #expect(answer.head.contains("Allow: DELETE, GET")) }
      if status >= 400 { #expect(answer.body.object?["request_id"]?.string?.isEmpty == false) }
    }
  }

  @Test(arguments: [
    ("text/plain", "{}", 415), ("application/json", "{", 400), ("application/json", "[]", 400),
    ("application/json; charset=utf-8", #"{"topic":"a"}"#, 200),
    ("application/json", #"{"topic":"a","topic":"b"}"#, 400),
  ])
  func bodiesAreJSON(_ type: String, _ body: String, _ status: Int) async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask(
        "PUT", "/v1/users/u/devices/00", body, headers: ["Content-Type": type])
      #expect(answer.status == status)
    }
  }

  @Test(arguments: [("gzip", 415), ("Identity", 200)])
  func bodiesComeAsTheyAre(_ coding: String, _ status: Int) async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask(
        "PUT", "/v1/users/u/devices/00", #"{"topic":"a"}"#,
        headers: ["Content-Type": "application/json", "Content-Encoding": coding])
      #expect(answer.status == status)
    }
  }

  @Test func aBodyThatIsTooLargeIsNotRead() async throws {
    try await APIBed.run { bed in
      let head = "PUT /v1/users/u/devices/00 HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n"
      for (line, status) in [("", "401"), ("Authorization: Bearer \(bed.key(.admin))\r\n", "413")] {
        let client = try RawClient(port: bed.port)
        client.send(head + line + "\r\n")
        let answer = try #require(client.readToEnd())
        #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
        #expect(answer.contains("application/problem+json"))
      }
    }
  }

  @Test(arguments: [
    ("Content-Length: 5\r\nTransfer-Encoding: chunked", "do not go together"),
    ("Content-Length: 5\r\nContent-Length: 6", "comes twice"),
    ("Content-Length: 5\r\nContent-Length: 5", "comes twice"),
    ("Content-Length: 5\r\nHost: b", "comes twice"),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "comes twice"),
    (": x\r\nContent-Length: 5", "a header is a name"), ("X: \u{0}", "a control character"),
  ])
  func whatMayBeReadAsTwoRequestsIsRefused(_ lines: String, _ words: String) async throws {
    try await APIBed.run { bed in
      let client = try RawClient(port: bed.port)
      client.send(
        "POST /v1/fanouts HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(bed.key(.admin))\r\n"
          + "\(lines)\r\n\r\n0\r\n\r\n"
          + "GET /v1/users/smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
      let answer = try #require(client.readToEnd())
      #expect(answer.hasPrefix("HTTP/1.1 400 ") && answer.contains(words), "\(answer)")
      #expect(answer.components(of: "HTTP/1.1 ") == 1)
    }
  }

  @Test func theCallersRequestIDGoesThrough() async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask("GET", "/v1/nothing", headers: ["X-Request-Id": "trace-7"])
      #expect(answer.head.contains("X-Request-Id: trace-7"))
      #expect(answer["request_id"] == "trace-7")
      let other = try bed.ask("GET", "/v1/nothing", headers: ["X-Request-Id": "a b"])
      #expect(other["request_id"]?.string?.utf8.count == 16)
    }
  }

  @Test func everyChangeIsAudited() async throws {
    try await APIBed.run { bed in
      let token = String(repeating: "00ab", count: 16)
      for number in 0..<40 {
        _ = try bed.ask("PUT", "/v1/users/u\(number)/devices/\(token)", #"{"topic":"a"}"#)
      }
      _ = try bed.ask("GET", "/v1/users/u1")
      _ = try bed.ask("DELETE", "/v1/users/u1", as: .readOnly)
      let lines = try bed.audit.lines.map { try JSONValue.parse(Array($0.utf8)).object }
      // Whoever was refused has changed nothing, and the key that was shown is not whose it is.
      let changes = lines.filter { $0?["msg"] == "change" }
      #expect(changes.count == 40 && lines.count == 41)
      #expect(changes.compactMap { $0?["user"]?.string } == (0..<40).map { "u\($0)" })
      #expect(changes.allSatisfy { $0?["key"] == "key-admin" && $0?["status"] == 200 })
      #expect(!bed.audit.lines.contains { $0.contains(token) })
      let metrics = await bed.server.metrics().text
      #expect(metrics.contains("\nfanfare_api_audit_lines_total{result=\"written\"} 41\n"))
      #expect(metrics.contains("\nfanfare_api_audit_lines_total{result=\"dropped\"} 0\n"))
    }
  }

  @Test func requestsAreCounted() async throws {
    try await APIBed.run { bed in
      _ = try bed.ask("GET", "/v1/users/u1/devices")
      _ = try bed.ask("GET", "/v1/nothing/u1")
      let text = await bed.server.metrics().text
      let labels = #"route="/v1/users/{user}/devices",method="GET",status="200""#
      #expect(text.contains("fanfare_http_requests_total{\(labels)} 1"))
      #expect(text.contains(#"fanfare_http_requests_total{route="-",method="-",status="404"} 1"#))
    }
  }

  /// At their heads, and by the server itself.
  @Test func refusedRequestsAreCounted() async throws {
    try await APIBed.run { bed in
      let lines = ["Content-Type": "application/x-ndjson"]
      #expect(try bed.ask("POST", "/v1/imports", "{}", as: nil, headers: lines).status == 401)
      #expect(try bed.ask("POST", "/v1/nothing", "{}").status == 404)
      let client = try RawClient(port: bed.port)
      client.send("GET / HTTP/9.9\r\nHost: a\r\n\r\n")
      #expect(client.readToEnd()?.hasPrefix("HTTP/1.1 400 ") == true)
      let text = await bed.server.metrics().text
      for labels in [
        #"route="/v1/imports",method="POST",status="401""#,
        #"route="-",method="-",status="404""#, #"route="-",method="-",status="400""#,
      ] {
        #expect(text.contains("fanfare_http_requests_total{\(labels)} 1\n"), "\(labels)")
      }
    }
  }

  /// `/readyz` names it, and who needs only Redis goes on.
  @Test func withoutKafkaItSaysSoAndDevicesAreBoundAllTheSame() async throws {
    try await APIBed.run { bed in
      func kafka(isWell: Bool) async -> HealthPart? {
        let deadline = ContinuousClock.now + .seconds(60)
        var part: HealthPart?
        repeat {
          _ = poll(nil, 0, 5)
          part = await bed.server.health().first { $0.name == "kafka" }
        } while (part?.trouble == nil) != isWell && ContinuousClock.now < deadline
        return part
      }
      #expect(await kafka(isWell: true) == HealthPart("kafka", trouble: nil, isVital: false))
      #expect(await bed.server.metrics().text.contains("fanfare_api_ready{part=\"kafka\"} 1"))
      bed.broker.setDown(true)
      let away = await kafka(isWell: false)
      #expect(away?.trouble == "no broker can be reached" && away?.isVital == false)
      #expect(await bed.server.metrics().text.contains("fanfare_api_ready{part=\"kafka\"} 0"))
      let bound = try bed.ask("PUT", "/v1/users/u1/devices/aa", #"{"topic":"com.example"}"#)
      #expect(bound.status == 200)
      bed.broker.setDown(false)
      #expect(await kafka(isWell: true)?.trouble == nil)
    }
  }

  /// Brokers answer, and take no event: nobody finds that out but by an event.
  @Test func aRecordThatKafkaRefusesIsToldUntilOneIsTaken() async throws {
    let event =
      #"{"id":"e1","app":"com.example","streamer":{"id":"s1"},"stream":{"id":"b1"},"#
      + #""occurred_at":"\#(APIBed.time)"}"#
    try await APIBed.run { bed in
      bed.broker.fail(next: .produce, with: [.topicAuthorizationFailed])
      let refused = try bed.ask("POST", "/v1/fanouts", event)
      #expect(refused.status != 202)
      func trouble() async -> String? {
        await bed.server.health().first { $0.name == "kafka" }?.trouble
      }
      let deadline = ContinuousClock.now + .seconds(60)
      while await trouble()?.contains("takes nothing") != true, ContinuousClock.now < deadline {
        _ = poll(nil, 0, 5)
      }
      #expect(await trouble()?.hasPrefix("notify-followers takes nothing: ") == true)
      // librdkafka sends nothing to such a topic until it has looked at it again: a second later.
      var taken = try bed.ask("POST", "/v1/fanouts", event)
      while taken.status != 202, ContinuousClock.now < deadline {
        _ = poll(nil, 0, 10)
        taken = try bed.ask("POST", "/v1/fanouts", event)
      }
      #expect(taken.status == 202, "\(taken.body)")
      #expect(await trouble() == nil)
    }
  }

  @Test func withoutRedisItSaysThatItIsAway() async throws {
    try await APIBed.run({ $0.redis.commandTimeout = .milliseconds(200) }) { bed in
      bed.redis.server.stop()
      let answer = try bed.ask("GET", "/v1/users/u1")
      #expect(answer.status == 503)
      #expect(answer.problem == "unavailable")
      #expect(answer.head.contains("Retry-After: 1"))
      let health = await bed.server.health()
      #expect(health.contains { $0.name == "redis" && $0.trouble != nil })
    }
  }
}

extension String {
  fileprivate func components(of text: String) -> Int { ranges(of: text).count }
}
