import JSON
import Testing

@testable import API

/// Devices that go from one user to another are told of.
@Suite struct TokenNewsTests {
  private static let topic = "notify-followers.tokens"
  private static let token = String(repeating: "cd", count: 32)

  private static func bind(_ bed: APIBed, _ user: String) throws -> APIBed.Answer {
    try bed.ask("PUT", "/v1/users/\(user)/devices/\(token)", #"{"topic":"com.example.live"}"#)
  }

  private static func news(_ bed: APIBed, _ count: Int) throws -> [(key: String, JSONObject)] {
    try bed.records(of: topic, count)
  }

  @Test func aMoveIsToldByEachDoor() async throws {
    try await APIBed.run({ $0.ingest.tokensTopic = Self.topic }) { bed in
      for user in ["u1", "u1", "u2"] { #expect(try Self.bind(bed, user).status == 200) }
      let row = #"{"user":"u3","devices":[{"token":"\#(Self.token)","topic":"com.example.live"}]}"#
      let imported = try bed.ask(
        "POST", "/v1/imports", row, headers: ["Content-Type": "application/x-ndjson"])
      #expect(imported["users"] == 1)
      let news = try Self.news(bed, 2).sorted { $0.key < $1.key }
      #expect(news.map(\.key) == ["u1", "u2"])
      for (index, one) in news.enumerated() {
        #expect(one.1["type"] == "token.moved" && one.1["from"] == .string("u\(index + 1)"))
        #expect(one.1["to"] == .string("u\(index + 2)") && one.1["token"] == .string(Self.token))
        #expect(one.1["topic"] == "com.example.live" && one.1["environment"] == "production")
        #expect(one.1["at_ms"]?.integer == 1_795_248_000_000 && one.1["platform"] == "apns")
      }
    }
  }

  /// Kafka is away when the device moves: the client hears it and asks again, and then it is told.
  @Test func aMoveThatCouldNotBeToldIsToldWhenItIsAskedAgain() async throws {
    try await APIBed.run({ options in
      options.ingest.tokensTopic = Self.topic
    }) { bed in
      #expect(try Self.bind(bed, "u1").status == 200)
      // As a process leaves it that died before it had told: the user has the device, and the move
      // is not settled.
      _ = try bed.redis.server.cli("SET", "ffd:{t:\(Self.token)}", "u2")
      let now = 1_795_248_000_000_000
      _ = try bed.redis.server.cli(
        "HSET", "ffd:{t:\(Self.token)}:moves", "number", "\(now)", ":u1", "\(now)")
      #expect(try Self.bind(bed, "u2").status == 200)
      #expect(try Self.news(bed, 1).map(\.key) == ["u1"])
      #expect(try bed.ask("GET", "/v1/users/u1/devices")["devices"]?.array?.isEmpty == true)
    }
  }

  @Test func whoeverCannotTellSaysSo() async throws {
    try await APIBed.run({ options in
      options.ingest.tokensTopic = Self.topic
      options.kafka.bootstrapServers = "127.0.0.1:1"
    }) { bed in
      #expect(try Self.bind(bed, "u1").status == 200)
      let answer = try Self.bind(bed, "u2")
      #expect(answer.status == 503 && answer.detail.contains("former user"))
      #expect(try bed.ask("GET", "/v1/users/u2/devices")["devices"]?.array?.count == 1)
    }
  }
}
