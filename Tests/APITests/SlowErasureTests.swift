import Fixtures
import JSON
import Testing

@testable import API

/// An erasure that takes longer than a client waits.
@Suite struct SlowErasureTests {
  private static let device = #"{"topic":"a.b"}"#

  /// So many streamers that to look at them takes longer than half of the exchange's time.
  private static func run(_ body: (APIBed) async throws -> Void) async throws {
    try await APIBed.run({ $0.http.exchangeTimeout = .milliseconds(500) }) { bed in
      _ = try bed.redis.server.cli(
        "EVAL",
        """
        for i = 1, 48000 do
          redis.call('HSET', 'ffd:{f:s' .. i .. '}', 'shards', '1', 'generation', '0')
        end
        """, "0")
      try await body(bed)
    }
  }

  /// The answer comes while the connection has still time for one; its id says how it ended.
  @Test func isAnsweredBeforeItsEndAndGoesOn() async throws {
    try await Self.run { bed in
      let bound = try bed.ask("PUT", "/v1/users/u1/devices/00ab", Self.device)
      #expect(bound.status == 200)
      let answer = try bed.ask("DELETE", "/v1/users/u1?everywhere=true")
      #expect(answer.status == 202 && answer.head.contains("Retry-After: 5"), "\(answer)")
      #expect(answer["complete"] == false)
      let place = try #require(answer.head.firstRange(of: "Location: "))
      let path = String(answer.head[place.upperBound...].prefix { $0 != "\r\n" })
      var record = try bed.ask("GET", path)
      while record["state"] == "running" { record = try bed.ask("GET", path) }
      #expect(record["state"] == "done" && record["complete"] == true, "\(record.body)")
      #expect(record["erased"]?.object?["devices"] == 1, "\(record.body)")
    }
  }

  /// The user's own keys go at once: what is bound behind the answer is a new user's.
  @Test func whoComesBackDuringALookStays() async throws {
    try await Self.run { bed in
      _ = try bed.ask("PUT", "/v1/users/u1/devices/00ab", Self.device)
      let answer = try bed.ask("DELETE", "/v1/users/u1?everywhere=true")
      #expect(answer.status == 202)
      #expect(try bed.ask("GET", "/v1/users/u1").status == 404)
      #expect(try bed.ask("PUT", "/v1/users/u1/devices/00cd", Self.device).status == 200)
      let id = try #require(answer["erasure"]?.string)
      var record = try bed.ask("GET", "/v1/erasures/\(id)")
      while record["state"] == "running" { record = try bed.ask("GET", "/v1/erasures/\(id)") }
      #expect(record["state"] == "done")
      let devices = try bed.ask("GET", "/v1/users/u1/devices")["devices"]?.array
      #expect(devices?.count == 1)
    }
  }
}
