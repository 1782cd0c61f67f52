import JSON
import Testing

@testable import API

/// Who did what to whom, and who was not let.
@Suite struct AuditTests {
  private static func lines(_ bed: APIBed) throws -> [JSONObject] {
    try bed.audit.lines.compactMap { try JSONValue.parse(Array($0.utf8)).object }
  }

  @Test func whoLosesADeviceIsNamed() async throws {
    try await APIBed.run { bed in
      let device = #"{"topic":"a.b"}"#
      _ = try bed.ask("PUT", "/v1/users/first/devices/00ab", device)
      _ = try bed.ask("PUT", "/v1/users/second/devices/00ab", device)
      _ = try bed.ask(
        "PUT", "/v1/users/third/devices/00ab", #"{"topic":"a.b","replaces":"00cd"}"#)
      let lines = try Self.lines(bed)
      #expect(lines.map { $0["former_user"]?.string } == [nil, "first", "second"])
      #expect(lines.last?["replaces"]?.string?.contains("00cd") == false)
    }
  }

  @Test func whoLosesADeviceToAnImportIsNamed() async throws {
    try await APIBed.run { bed in
      for user in ["first", "second"] {
        _ = try bed.ask(
          "PUT", "/v1/users/\(user)/devices/00\(user == "first" ? "ab" : "cd")", #"{"topic":"a.b"}"#
        )
      }
      let row =
        #"{"user":"third","devices":[{"token":"00ab","topic":"a.b"},"#
        + #"{"token":"00cd","topic":"a.b"}]}"#
      let answer = try bed.ask(
        "POST", "/v1/imports?id=i1", row + "\n",
        headers: ["Content-Type": "application/x-ndjson"])
      #expect(answer.status == 200)
      let lines = try Self.lines(bed).suffix(2)
      #expect(lines.map { $0["msg"]?.string } == ["change goes on", "change"])
      #expect(
        Set((lines.first?["former_user"]?.string ?? "").split(separator: "\n")) == [
          "first", "second",
        ])
      #expect(lines.first?["request"]?.string == lines.last?["request"]?.string)
    }
  }

  @Test func theEventIsNamed() async throws {
    try await APIBed.run { bed async throws in
      let event = """
        {"id":"e1","app":"a.b","streamer":{"id":"s1"},"stream":{"id":"x"},
         "template":"go-live","occurred_at":"\(APIBed.time)","expires_in":600}
        """
      #expect(try bed.ask("POST", "/v1/fanouts", event).status == 202)
      let late = event.replacing(#""id":"e1""#, with: #""id":"e2""#)
        .replacing(APIBed.time, with: "2026-11-21T07:00:00Z")
      #expect(try bed.ask("POST", "/v1/fanouts", late).status == 409)
      #expect(try Self.lines(bed).map { $0["event"]?.string } == ["e1", "e2"])
    }
  }

  @Test func taggedUsersAreNamedAllOfThem() async throws {
    try await APIBed.run { bed in
      let users = (0..<1_000).map { "user-\($0)" }
      let list = users.map { "\"\($0)\"" }.joined(separator: ",")
      _ = try bed.ask("PATCH", "/v1/tags/vip", #"{"add":[\#(list)],"remove":["one"]}"#)
      let lines = try Self.lines(bed)
      let told = lines.flatMap {
        $0["added"]?.string?.split(separator: "\n").map(String.init) ?? []
      }
      #expect(told == users)
      #expect(lines.first?["removed"] == "one")
      #expect(Set(lines.map { $0["request"]?.string }).count == 1)
      #expect(lines.allSatisfy { $0["truncated"] == nil })
    }
  }

  @Test func whoIsRefusedIsNamed() async throws {
    try await APIBed.run { bed in
      _ = try bed.ask("GET", "/v1/users/u1", as: nil)
      _ = try bed.ask("DELETE", "/v1/users/u1", as: .readOnly)
      _ = try bed.ask(
        "POST", "/v1/imports", "{}", as: nil, headers: ["Content-Type": "application/x-ndjson"])
      let lines = try Self.lines(bed)
      #expect(lines.map { $0["status"] } == [401, 403, 401])
      #expect(lines.map { $0["key"]?.string } == ["-", "key-read-only", "-"])
      #expect(lines.map { $0["msg"]?.string } == ["refused", "refused", "refused"])
      #expect(lines.map { $0["user"]?.string } == ["u1", "u1", nil])
      #expect(lines.allSatisfy { $0["peer"] == "127.0.0.1" })
    }
  }

  @Test func aFloodOfRefusalsIsCounted() async throws {
    try await APIBed.run { bed in
      for _ in 0..<60 { _ = try bed.ask("DELETE", "/v1/users/u1", as: .readOnly) }
      let told = try Self.lines(bed).count
      #expect((20..<60).contains(told))
      let metrics = await bed.server.metrics().text
      #expect(
        metrics.contains("\nfanfare_api_audit_lines_total{result=\"withheld\"} \(60 - told)\n"))
    }
  }

  @Test func listsAreCutBetweenElements() {
    #expect(AuditNotes.pieces(of: ["a", "b"]) == ["a\nb"])
    let long = String(repeating: "\"", count: 400)
    #expect(AuditNotes.pieces(of: [long, "b", long]) == ["\(long)\nb", long])
  }

  /// Whoever may only look sees no token because somebody took it for the name of a member.
  @Test func aRefusedMemberIsNotQuotedWhole() async throws {
    try await APIBed.run { bed in
      let token = String(repeating: "a1", count: 32)
      let rows = [
        #"{"user":"u1","\#(token)":1}"#, #"{"user":"u1","profile":{"\#(token)":[]}}"#,
        #"{"user":"u1","profile":{"\#(token)":"\#(String(repeating: "v", count: 2_000))"}}"#,
        #"{"user":"u1","devices":[{"\#(token)":1}]}"#,
      ]
      let answer = try bed.ask(
        "POST", "/v1/imports?id=i1", rows.joined(separator: "\n"),
        headers: ["Content-Type": "application/x-ndjson"])
      #expect(answer["refused"] == 4)
      let report = JSONText.compact(try bed.ask("GET", "/v1/imports/i1", as: .readOnly).body)
      #expect(report.contains("a1a1a1a1…") && !report.contains(String(token.prefix(16))))
    }
  }
}
