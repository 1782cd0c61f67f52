import Fixtures
import Glibc
import JSON
import Kafka
import Testing

@testable import API

/// Many users over HTTP.
@Suite struct ImportTests {
  private static let token = String(repeating: "ab", count: 32)
  private static let lines = ["Content-Type": "application/x-ndjson"]

  private static func row(_ user: String, _ token: String = token, _ more: String = "") -> String {
    #"{"user":"\#(user)","follows":["s1"],"devices":[{"token":"\#(token)","topic":"a.b"}]\#(more)}"#
  }

  private static func rows(_ users: Range<Int>) -> String {
    users.map { #"{"user":"u\#($0)","follows":["s1"]}"# + "\n" }.joined()
  }

  @Test func rowsAreWrittenAndThoseThatAreWrongTold() async throws {
    try await APIBed.run { bed in
      let printed = #"<ABABABAB "# + String(repeating: "ab", count: 28) + ">"
      let body = [
        Self.row("u1", printed), "", #"{"user":"u 2","nonsense":1}"#, #"{"user":"u3"}"#,
        Self.row("u4", "abc"),
      ].joined(separator: "\n")
      for id in ["i1", "i2"] {
        let answer = try bed.ask(
          "POST", "/v1/imports?id=\(id)", body, as: .appServer, headers: Self.lines)
        #expect(answer.status == 200 && answer["state"] == "done", "\(answer.body)")
        #expect(answer["rows"] == 4 && answer["refused"] == 2 && answer["users"] == 2)
        #expect(answer["devices"] == 1 && answer["follows"] == (id == "i1" ? 1 : 0))
        let refusals = answer["refusals"]?.array?.compactMap(\.object) ?? []
        #expect(refusals.map { $0["line"] } == [3, 5])
        #expect(refusals.first?["reason"]?.string?.contains("nonsense") == true)
        #expect(refusals.last?["reason"]?.string?.contains("even number") == true)
        #expect(answer.head.contains("Location: /v1/imports/\(id)"))
      }
      let devices = try bed.ask("GET", "/v1/users/u1/devices")["devices"]?.array
      #expect(devices?.first?.object?["token"] == .string(Self.token))
      #expect(try bed.ask("GET", "/v1/audiences/s1")["followers"] == 1)
      let line = try #require(bed.audit.lines.last)
      #expect(line.contains(#""import":"i2""#) && line.contains(#""rows":"4""#))
      let known = try bed.ask("GET", "/v1/imports/i1", as: .readOnly)
      #expect(known.status == 200 && known["state"] == "done" && known["rows"] == 4)
      #expect(try bed.ask("DELETE", "/v1/imports/i1", as: .appServer).status == 204)
      #expect(try bed.ask("DELETE", "/v1/imports/i1").status == 404)
      #expect(try bed.ask("GET", "/v1/imports/i1").status == 404)
      #expect(await bed.server.metrics().text.contains(#"rows_total{result="written"} 4"#))
    }
  }

  /// What was meant is looked for among 600 names, for the rows that are told of only.
  @Test(.timeLimit(.minutes(1))) func unknownZonesAreRefusedQuickly() async throws {
    try await APIBed.run { bed in
      let rows = (0..<8_000).map { #"{"user":"u\#($0)","profile":{"tz":"Asia/Tokio"}}"# }
      let answer = try bed.ask(
        "POST", "/v1/imports?id=i1", rows.joined(separator: "\n"), headers: Self.lines)
      #expect(answer.status == 200 && answer["refused"] == 8_000, "\(answer.body)")
      let refusals = answer["refusals"]?.array?.compactMap(\.object) ?? []
      #expect(refusals.count == 20)
      #expect(refusals.last?["reason"]?.string?.contains("did you mean Asia/Tokyo?") == true)
    }
  }

  @Test(arguments: [
    ("?strict=maybe", "application/x-ndjson", 422), ("?id=a%20b", "application/x-ndjson", 422),
    ("?topic=a%20b", "application/x-ndjson", 422), ("?x=1", "application/x-ndjson", 400),
    ("", "application/json", 415),
  ])
  func whatIsNotTakenIsRefused(_ query: String, _ type: String, _ status: Int) async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask(
        "POST", "/v1/imports\(query)", "{}\n", headers: ["Content-Type": type])
      #expect(answer.status == status, "\(answer.body)")
    }
  }

  @Test func whoMayNotIsRefusedBeforeAnythingIsRead() async throws {
    try await APIBed.run { bed in
      for (scope, status) in [(APIScope?.none, 401), (.readOnly, 403)] {
        let answer = try bed.ask(
          "POST", "/v1/imports", Self.row("u1"), as: scope, headers: Self.lines)
        #expect(answer.status == status)
      }
      #expect(try bed.ask("GET", "/v1/users/u1").status == 404)
    }
  }

  @Test func strictEndsAtTheFirstWrongRow() async throws {
    try await APIBed.run { bed in
      let body = "\(Self.row("u1"))\n{}\n\(Self.row("u2"))\n"
      let answer = try bed.ask(
        "POST", "/v1/imports?id=i1&strict=true", body, headers: Self.lines)
      #expect(answer.status == 422 && answer.detail.contains("line 2"))
      #expect(try bed.ask("GET", "/v1/users/u1").status == 200)
      #expect(try bed.ask("GET", "/v1/users/u2").status == 404)
      #expect(try bed.ask("GET", "/v1/imports/i1")["state"] == "failed")
    }
  }

  /// A client in the middle of its body.
  private static func begin(
    _ bed: APIBed, _ id: String, _ rows: String, as scope: APIScope = .appServer
  ) throws -> RawClient {
    let client = try RawClient(port: bed.port)
    client.send(
      "POST /v1/imports?id=\(id) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
        + "Authorization: Bearer \(bed.key(scope))\r\n"
        + "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
    sendChunk(client, rows)
    return client
  }

  private static func sendChunk(_ client: RawClient, _ text: String) {
    client.send("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n")
  }

  /// Waits until the import is told of as wanted.
  private static func until(
    _ bed: APIBed, _ id: String, _ isThere: (APIBed.Answer) -> Bool
  ) throws -> APIBed.Answer {
    let deadline = ContinuousClock.now + .seconds(20)
    while true {
      let answer = try bed.ask("GET", "/v1/imports/\(id)")
      if isThere(answer) || ContinuousClock.now > deadline { return answer }
      _ = poll(nil, 0, 5)
    }
  }

  /// Ids are told apart by their bytes: the Kelvin sign is no K.
  @Test func anotherIdsEndIsNoEnd() async throws {
    try await APIBed.run { bed in
      let client = try Self.begin(bed, "K1", Self.rows(0..<1))
      _ = try Self.until(bed, "K1") { $0["state"] == "running" }
      #expect(try bed.ask("DELETE", "/v1/imports/%E2%84%AA1").status == 404)
      Self.sendChunk(client, Self.rows(1..<2))
      client.send("0\r\n\r\n")
      let answer = try #require(client.readToEnd())
      #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains(#""rows":2"#), "\(answer)")
    }
  }

  @Test func progressIsToldWhileRowsCome() async throws {
    try await APIBed.run({ $0.imports.atOnce = 2 }) { bed in
      let client = try Self.begin(bed, "i1", Self.rows(0..<2_500))
      let midway = try Self.until(bed, "i1") { $0["rows"] == 2_500 }
      #expect(midway["state"] == "running" && midway["rows"] == 2_500)
      let again = try bed.ask("POST", "/v1/imports?id=i1", "{}\n", headers: Self.lines)
      #expect(again.status == 409)
      // One key has all but one of them.
      let same = try bed.ask(
        "POST", "/v1/imports?id=i3", "{}\n", as: .appServer, headers: Self.lines)
      #expect(same.status == 429 && same.detail.contains("1 imports of key-app-server"))
      let second = try Self.begin(bed, "i2", "\n", as: .admin)
      _ = try Self.until(bed, "i2") { $0.status == 200 }
      let third = try bed.ask("POST", "/v1/imports?id=i3", "{}\n", headers: Self.lines)
      #expect(third.status == 429 && third.head.contains("Retry-After"))
      #expect(third.detail.contains("2 imports are under way"))
      for client in [client, second] {
        Self.sendChunk(client, "\(Self.rows(2_500..<2_501))")
        client.send("0\r\n\r\n")
      }
      let answer = try #require(client.readToEnd())
      #expect(answer.contains(" 200 ") && answer.contains(#""rows":2501"#))
      #expect(second.readToEnd()?.contains(" 200 ") == true)
      #expect(try bed.ask("GET", "/v1/audiences/s1")["followers"] == 2_501)
    }
  }

  @Test func allThreadsTogetherReadSoMany() async throws {
    try await APIBed.run({
      $0.threads = 4
      $0.imports.atOnce = 1
    }) { bed in
      let client = try Self.begin(bed, "i0", "\n")
      _ = try Self.until(bed, "i0") { $0.status == 200 }
      for number in 1...20 {
        let answer = try bed.ask("POST", "/v1/imports?id=i\(number)", "{}\n", headers: Self.lines)
        #expect(answer.status == 429)
      }
      client.send("0\r\n\r\n")
      #expect(client.readToEnd()?.contains(" 200 ") == true)
      let next = try bed.ask("POST", "/v1/imports?id=i1", "\n", headers: Self.lines)
      #expect(next.status == 200)
    }
  }

  /// At once, where the thread that reads it is asked; others, as other processes, tell Redis.
  @Test func aDeletedImportStops() async throws {
    try await APIBed.run({ $0.threads = 1 }) { bed in
      let client = try Self.begin(bed, "i1", Self.rows(0..<10))
      _ = try Self.until(bed, "i1") { $0["rows"] == 10 }
      #expect(try bed.ask("DELETE", "/v1/imports/i1").status == 204)
      Self.sendChunk(client, Self.rows(10..<20))
      client.send("0\r\n\r\n")
      #expect(client.readToEnd()?.contains(" 409 ") == true)
      #expect(try bed.ask("GET", "/v1/imports/i1").status == 404)
      #expect(try bed.ask("GET", "/v1/audiences/s1")["followers"] == 10)
    }
  }

  /// By another process, of which this one hears within a second.
  @Test func whatAnotherProcessDeletesStops() async throws {
    try await APIBed.run { bed in
      let client = try Self.begin(bed, "i1", Self.rows(0..<10))
      _ = try Self.until(bed, "i1") { $0["rows"] == 10 }
      _ = try bed.redis.server.cli("DEL", "ffd:{n:i1}")
      // It is told, though it is still sending.
      let deadline = ContinuousClock.now + .seconds(20)
      var number = 10
      while !client.waitForClose(milliseconds: 20), ContinuousClock.now < deadline {
        Self.sendChunk(client, Self.rows(number..<number + 1))
        number += 1
      }
      #expect(ContinuousClock.now < deadline)
      #expect(client.readToEnd()?.hasPrefix("HTTP/1.1 409 ") == true)
      #expect(try bed.ask("GET", "/v1/imports/i1").status == 404)
    }
  }

  @Test func aBodyThatBreaksOffIsTold() async throws {
    try await APIBed.run { bed in
      var client: RawClient? = try Self.begin(bed, "i1", Self.rows(0..<10))
      _ = try Self.until(bed, "i1") { $0["rows"] == 10 }
      client = nil
      let ended = try Self.until(bed, "i1") { $0["state"] != "running" }
      #expect(client == nil && ended["state"] == "failed")
      #expect(ended["why"]?.string?.contains("did not come to its end") == true)
      #expect(try bed.ask("GET", "/v1/audiences/s1")["followers"] == 10)
    }
  }

  @Test func aBodyThatIsTooLargeIsRefused() async throws {
    try await APIBed.run({ $0.imports.maximumBytes = 1_000 }) { bed in
      let announced = try bed.ask(
        "POST", "/v1/imports", Self.rows(0..<100), headers: Self.lines)
      #expect(announced.status == 413)
      let client = try Self.begin(bed, "i1", Self.rows(0..<10))
      _ = try Self.until(bed, "i1") { $0["rows"] == 10 }
      Self.sendChunk(client, Self.rows(10..<100))
      client.send("0\r\n\r\n")
      #expect(client.readToEnd()?.contains(" 413 ") == true)
      #expect(try bed.ask("GET", "/v1/audiences/s1")["followers"] == 10)
    }
  }

  /// Its process died: nobody tells of it any more.
  @Test func anImportOfWhichNothingIsHeardIsInterrupted() async throws {
    try await APIBed.run { bed in
      let client = try Self.begin(bed, "i1", Self.rows(0..<10))
      _ = try Self.until(bed, "i1") { $0["rows"] == 10 }
      let report = try bed.redis.server.cli("HGET", "ffd:{n:i1}", "report")
      client.send("0\r\n\r\n")
      _ = client.readToEnd()
      _ = try bed.redis.server.cli("HSET", "ffd:{n:i1}", "report", report, "heard_ms", "1")
      #expect(try bed.ask("GET", "/v1/imports/i1")["state"] == "interrupted")
    }
  }
}
