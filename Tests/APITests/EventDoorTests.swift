import Glibc
import JSON
import Kafka
import Testing

@testable import API

@Suite struct EventDoorTests {
  private static func event(_ id: String, _ more: String = "") -> String {
    #"{"id":"\#(id)","app":"com.example.live","streamer":{"id":"s1"},"stream":{"id":"b"},"#
      + #""occurred_at":"\#(APIBed.time)"\#(more)}"#
  }

  /// What Kafka has: keys and values in any order.
  private static func records(_ bed: APIBed, _ count: Int) throws -> [(key: String, JSONObject)] {
    try bed.records(of: APIBed.events, count)
  }

  @Test func anEventIsInKafkaWhenItIsAnswered() async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask("POST", "/v1/fanouts", Self.event("e1"), as: .appServer)
      #expect(answer.status == 202)
      #expect(answer["id"] == "e1")
      #expect(answer["offset"] == 0)
      #expect(answer.head.contains("Location: /v1/fanouts/e1"))
      let records = try Self.records(bed, 1)
      #expect(records.map(\.0) == ["s1"])
      #expect(records.first?.1["id"] == "e1")
    }
  }

  @Test(arguments: [
    (#"{"id":"e1"}"#, 422, "missing_field"), ("[]", 422, "wrong_type"), ("{", 400, "not_json"),
    (event("e 1"), 422, "bad_identifier"), (event("e1", #","x":1"#), 422, "unknown_field"),
    (event("e1", #","template":"unknown""#), 409, "unknown_template"),
    (
      event("e1").replacing(APIBed.time, with: "2001-01-01T00:00:00Z"), 409, "expired"
    ),
    (
      event("e1").replacing(APIBed.time, with: "2999-01-01T00:00:00Z"), 409, "occurred_in_future"
    ),
    (event("e1", #","send_at":"2999-01-01T00:00:00Z""#), 422, "bad_time"),
    (event("e1", #","send_at":{"local":"18:00"}"#), 422, "bad_time"),
  ])
  func whatWorkersWouldPutAsideIsRefused(
    _ body: String, _ status: Int, _ reason: String
  ) async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask("POST", "/v1/fanouts", body)
      #expect(answer.status == status)
      #expect(answer["reason"] == .string(reason))
    }
  }

  @Test(arguments: ["", "now", "2026-11-21", "2026-11-21T08:00:00"])
  func aTimeOfCloudEventsThatIsNoneIsRefused(_ time: String) async throws {
    try await APIBed.run { bed in
      let data = #"{"app":"a","streamer":{"id":"s1"},"stream":{"id":"b"}}"#
      let envelope =
        #"{"specversion":"1.0","id":"ce-1","source":"/live","type":"stream.live","#
        + #""time":"\#(time)","data":\#(data)}"#
      let structured = try bed.ask(
        "POST", "/v1/fanouts", envelope, headers: ["Content-Type": "application/cloudevents+json"])
      #expect(structured.status == 422 && structured["reason"] == "bad_time")
      let binary = try bed.ask(
        "POST", "/v1/fanouts", data,
        headers: [
          "ce-specversion": "1.0", "ce-id": "ce-2", "ce-source": "/live",
          "ce-type": "stream.live", "ce-time": time.isEmpty ? "-" : time,
        ])
      #expect(binary.status == 422 && binary["reason"] == "bad_time")
    }
  }

  @Test(arguments: [
    "application/json; charset=utf-8", "text/json", "application/vnd.example+json",
    "Application/CloudEvents+JSON;charset=UTF-8",
  ])
  func jsonIsTakenByAnyOfItsNames(_ type: String) async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask(
        "POST", "/v1/fanouts", Self.event("e1"), headers: ["Content-Type": type])
      #expect(answer.status == 202)
    }
  }

  @Test(arguments: [
    ("application/cloudevents-batch+json", "batch"), ("application/cloudevents+avro", "avro"),
    ("application/avro", "application/avro"), ("text/plain", "text/plain"),
  ])
  func otherTypesAreRefusedByName(_ type: String, _ words: String) async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask(
        "POST", "/v1/fanouts", "[\(Self.event("e1"))]", headers: ["Content-Type": type])
      #expect(answer.status == 415)
      #expect(answer["detail"]?.string?.contains(words) == true)
    }
  }

  /// As CloudEvents' HTTP binding encodes what is no plain ASCII.
  @Test(arguments: [("ce%2D7", "ce-7"), (#""ce-8""#, "ce-8"), ("ce-9", "ce-9")])
  func attributesInHeadersAreDecoded(_ written: String, _ id: String) async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask(
        "POST", "/v1/fanouts", #"{"app":"a","streamer":{"id":"s1"},"stream":{"id":"b"}}"#,
        headers: [
          "ce-specversion": "1.0", "ce-id": written, "ce-source": "/live", "ce-note": "%FF",
          "ce-type": "com.example.stream.live", "ce-time": APIBed.time,
        ])
      #expect(answer["id"] == .string(id))
    }
  }

  @Test func cloudEventsComeWithAndWithoutAnEnvelope() async throws {
    try await APIBed.run { bed in
      let data = #"{"app":"a","streamer":{"id":"s1"},"stream":{"id":"b"}}"#
      let envelope =
        #"{"specversion":"1.0","id":"ce-1","source":"/live","type":"com.example.stream.live","#
        + #""time":"\#(APIBed.time)","data":\#(data)}"#
      let structured = try bed.ask(
        "POST", "/v1/fanouts", envelope, headers: ["Content-Type": "application/cloudevents+json"])
      #expect(structured["id"] == "ce-1")
      let binary = try bed.ask(
        "POST", "/v1/fanouts", data,
        headers: [
          "ce-specversion": "1.0", "ce-id": "ce-2", "ce-source": "/live",
          "ce-type": "stream.live", "ce-time": APIBed.time,
        ])
      #expect(binary["id"] == "ce-2")
      let records = try Self.records(bed, 2)
      #expect(Set(records.compactMap { $0.1["id"]?.string }) == ["ce-1", "ce-2"])
      #expect(records.allSatisfy { $0.1["specversion"] == nil && $0.1["occurred_at"] != nil })
    }
  }

  @Test func theEndOfAStreamGoesThrough() async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask("POST", "/v1/fanouts", Self.event("e1", #","type":"stream.ended""#))
      #expect(answer.status == 202)
      #expect(answer["ended"] == "b")
      #expect(try Self.records(bed, 1).first?.1["type"] == "stream.ended")
    }
  }

  @Test func aRepeatedRequestIsDoneOnce() async throws {
    try await APIBed.run { bed in
      let body = Self.event("e1")
      let first = try bed.ask("POST", "/v1/fanouts", body, headers: ["Idempotency-Key": "k"])
      let again = try bed.ask("POST", "/v1/fanouts", body, headers: ["Idempotency-Key": "k"])
      #expect(first.body == again.body)
      #expect(!first.head.contains("Idempotency-Replayed"))
      #expect(again.head.contains("Idempotency-Replayed: true"))
      #expect(again.head.contains("Location: /v1/fanouts/e1"))
      // The same body under other names of a query or of CloudEvents is another request.
      let cloud = try bed.ask(
        "POST", "/v1/fanouts", body, headers: ["Idempotency-Key": "k", "ce-id": "e2"])
      #expect(cloud.problem == "idempotency-key-reused")
      let other = try bed.ask(
        "POST", "/v1/fanouts", Self.event("e2"), headers: ["Idempotency-Key": "k"])
      #expect(other.problem == "idempotency-key-reused")
      let another = try bed.ask(
        "POST", "/v1/fanouts", Self.event("e2"), as: .appServer, headers: ["Idempotency-Key": "k"])
      #expect(another.status == 202)
      #expect(try Self.records(bed, 2).count == 2)
    }
  }

  @Test func whatWasRefusedMayBeAskedBetter() async throws {
    try await APIBed.run { bed in
      let wrong = try bed.ask("POST", "/v1/fanouts", "{}", headers: ["Idempotency-Key": "k"])
      #expect(wrong.status == 422)
      let right = try bed.ask(
        "POST", "/v1/fanouts", Self.event("e1"), headers: ["Idempotency-Key": "k"])
      #expect(right.status == 202)
    }
  }

  @Test func aFanOutIsShownAndStopped() async throws {
    try await APIBed.run { bed in
      #expect(try bed.ask("GET", "/v1/fanouts/e1").status == 404)
      _ = try await bed.redis.run { redis in
        try await redis.ask(
          "HSET", "ff:{e:e1}", "state", "running", "streamer", "s1", "pushes", "7")
      }
      _ = try await bed.redis.run {
        try await $0.ask("XADD", "ff:{stats}:fanouts", "*", "id", "e1")
      }
      #expect(try bed.ask("GET", "/v1/fanouts/e1", as: .readOnly)["pushes"] == 7)
      let paused = try bed.ask("POST", "/v1/fanouts/e1/pause", #"{"reason":"wrong title"}"#)
      #expect(paused["brake"] == "paused")
      #expect(paused["brake_why"] == "wrong title")
      #expect(try bed.ask("POST", "/v1/fanouts/e1/resume")["brake"] == "")
      #expect(try bed.ask("POST", "/v1/fanouts/e1/cancel")["brake"] == "cancelled")
      #expect(try bed.ask("POST", "/v1/fanouts/e1/resume").status == 409)
      let list = try bed.ask("GET", "/v1/fanouts?limit=5")
      #expect(list["fanouts"]?.array?.first?.object?["event"] == "e1")
    }
  }

  /// A day ahead by Redis' clock, which decides.
  @Test func aScheduledFanOutIsShownAndRescheduled() async throws {
    try await APIBed.run { bed in
      let event = Self.event("e1", #","send_at":"2026-11-21T18:00:00Z""#)
      #expect(try bed.ask("POST", "/v1/fanouts", event, as: .appServer).status == 202)
      let path = "/v1/fanouts/e1/reschedule"
      let body = #"{"send_at":{"local":"1970-01-02T18:00"}}"#
      #expect(try bed.ask("POST", path, body).status == 404, "no worker has read it")
      let key = "ff:{e:e1}"
      _ = try await bed.redis.run { redis in
        try await redis.ask(
          "HSET", key, "state", "scheduled", "streamer", "s1", "send_at_ms", "1000",
          "send_last_ms", "1000", "expires_ms", "901000", "send_by_ms", "4000000000000")
      }
      let past = try bed.ask("POST", path, body)
      #expect(past.status == 422 && past.detail.contains("expired at 1970-01-03T06:15:00Z"))
      // So long a lifetime reaches from 1970 to today.
      let lifetime: Int64 = 4_000_000_000_000
      _ = try await bed.redis.run {
        try await $0.ask("HSET", key, "expires_ms", "\(1000 + lifetime)")
      }
      _ = try await bed.redis.run { try await $0.ask("ZADD", "ff:{stats}:scheduled", "1000", "e1") }
      let list = try bed.ask("GET", "/v1/fanouts", as: .readOnly)
      let first = list["fanouts"]?.array?.first?.object
      #expect(first?["state"] == "scheduled" && first?["send_at"] == "1970-01-01T00:00:01Z")
      #expect(try bed.ask("POST", path, body, as: .appServer).status == 403)
      for wrong in ["{}", #"{"send_at":5}"#, #"{"send_at":"18:00"}"#, #"{"at":1}"#] {
        #expect(try bed.ask("POST", path, wrong).status == 422, "\(wrong)")
      }
      let far = try bed.ask("POST", path, #"{"send_at":"2999-01-01T00:00:00Z"}"#)
      #expect(far.status == 422 && far.detail.contains("at the latest"))
      let moved = try bed.ask("POST", path, body)
      #expect(moved.status == 200 && moved["send_at"] == "1970-01-02T18:00")
      let hours: Int64 = 3_600_000
      #expect(moved["send_at_ms"] == .integer(28 * hours))
      #expect(moved["expires_ms"] == .integer(54 * hours + lifetime), "as long as before")
      _ = try await bed.redis.run { try await $0.ask("HSET", key, "state", "running") }
      #expect(try bed.ask("POST", path, body).status == 409)
      _ = try await bed.redis.run {
        try await $0.ask("HSET", key, "state", "scheduled", "brake", "cancelled")
      }
      #expect(try bed.ask("POST", path, body).status == 409)
    }
  }

  /// Redis may note the claim of a request after that was answered.
  @Test func aRequestThatRedisDidNotHearInTimeMayBeAskedAgainSoon() async throws {
    try await APIBed.run({ $0.redis.commandTimeout = .milliseconds(300) }) { bed in
      func ask() throws -> Int {
        try bed.ask(
          "POST", "/v1/fanouts", Self.event("e1"), headers: ["Idempotency-Key": "k"]
        ).status
      }
      // Connects.
      _ = try bed.ask("GET", "/v1/users/u1/devices")
      bed.redis.server.freeze()
      defer { bed.redis.server.resume() }
      #expect(try ask() == 503)
      bed.redis.server.resume()
      let deadline = ContinuousClock.now + .seconds(30)
      var status = try ask()
      while status != 202, ContinuousClock.now < deadline {
        _ = poll(nil, 0, 10)
        status = try ask()
      }
      #expect(status == 202)
    }
  }
}
