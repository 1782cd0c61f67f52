import Assembly
import Checkout
import Fixtures
import Ingest
import JSON
import Keyspace
import Testing
import Traces

@testable import API

/// `GET /v1/fanouts/{event}/recipients/{user}`: as the verb prints it, for whoever may see it.
@Suite struct TraceRoutesTests {
  private static let token = "00112233445566778899aabbccddeeff"

  private static func seed(_ bed: APIBed) throws {
    let cli = bed.redis.server
    try cli.cli(
      "HSET", "ff:{e:e1}", "state", "done", "streamer", "s1", "template", "go-live", "plan",
      "generation:0", "segments", "1", "settled", "1", "accepted", "3", "trace", "failures",
      "started_ms", "1300000000005")
    try cli.cli("SADD", "ff:{e:e1}:settled", "0.0")
    try cli.cli(
      "SET", "ffd:{e:e1}:document",
      """
      {"id":"e1","app":"com.example.live","streamer":{"id":"s1"},"stream":{"id":"b1"},\
      "occurred_at":"\(APIBed.time)"}
      """)
    #expect(try bed.ask("PUT", "/v1/users/u1/follows/s1").status == 200)
    let device = "/v1/users/u1/devices/\(token)"
    #expect(
      try bed.ask("PUT", device, #"{"topic": "com.example.live", "bound_at_ms": 1300000000000}"#)
        .status == 200)
    try cli.cli("HSET", "ffd:{e:e1}:trace:0", "u2", "0:muted:a:0")
  }

  @Test func whatBecameOfItIsTold() async throws {
    try await APIBed.run { bed in
      try Self.seed(bed)
      let target = "/v1/fanouts/e1/recipients/u1"
      let answer = try bed.ask("GET", target)
      #expect(answer.status == 200)
      #expect(answer["verdict"]?.string == "presumably-accepted")
      #expect(answer["follows_now"] == .bool(true) && answer["segment"]?.string == "0.0")
      #expect(answer["devices"]?.array?.first?.object?["token"]?.string == Self.token)
      let muted = try bed.ask("GET", "/v1/fanouts/e1/recipients/u2")
      #expect(muted["verdict"]?.string == "suppressed" && muted["reason"]?.string == "muted")
      // As the verb prints it.
      let options = TraceOptions(keyspace: Keyspace(), ingest: IngestOptions())
      let printed = try await bed.redis.run { redis async throws in
        try await TraceReader(redis: redis, options: options)
          .trace("e1", of: "u1", now: 0)
          .jsonText(.init(showsTokens: true, showsPayload: true))
      }
      #expect(try JSONValue.parse(Array(printed.utf8)) == answer.body)
    }
  }

  @Test func whoMayOnlyReadSeesNoTokenAndNoText() async throws {
    let file = Checkout.path("Config/templates/go-live.yaml")
    let template = try Assembly.template(file: file)
    try await APIBed.run({ $0.trace.template = { _ in template } }) { bed in
      try Self.seed(bed)
      let target = "/v1/fanouts/e1/recipients/u1"
      let reader = try bed.ask("GET", target, as: .readOnly)
      #expect(reader.status == 200)
      #expect(
        reader["devices"]?.array?.first?.object?["token"]?.string == "00112233…")
      #expect(reader["rendered_now"]?.object?["locale"]?.string == "en")
      #expect(reader["rendered_now"]?.object?["payload"] == nil)
      let server = try bed.ask("GET", target, as: .appServer)
      #expect(server["rendered_now"]?.object?["payload"]?.object != nil)
      #expect(try bed.ask("GET", target, as: nil).status == 401)
    }
  }

  @Test func whatIsNotKnownIsNotFound() async throws {
    try await APIBed.run { bed in
      try Self.seed(bed)
      for target in ["/v1/fanouts/e9/recipients/u1", "/v1/fanouts/e1/recipients/nobody"] {
        let answer = try bed.ask("GET", target, as: .readOnly)
        #expect(answer.status == 404 && answer.problem == "not-found", "\(target)")
      }
      let bad = try bed.ask("GET", "/v1/fanouts/e1/recipients/a%7Bb")
      #expect(bad.status == 422 && bad.problem == "invalid")
      #expect(try bed.ask("GET", "/v1/fanouts/e1/recipients/u1?x=1").status == 400)
    }
  }
}
