import Fixtures
import JSON
import Testing

@testable import API

/// An erasure that takes longer than a client waits.
@Suite struct SlowErasureTests {
  /// The answer comes while the connection has still time for one, by what both have unless it is
  /// set; its id says how it ended.
  @Test func isAnsweredBeforeItsEndAndGoesOn() async throws {
    try await APIBed.run({ options in
      options.redis.commandTimeout = .seconds(900)
      options.redis.checkInterval = .seconds(900)
    }) { bed in
      let bound = try bed.ask("PUT", "/v1/users/u1/devices/00ab", #"{"topic":"a.b"}"#)
      #expect(bound.status == 200)
      // Connects the erasures' own client.
      #expect(try bed.ask("DELETE", "/v1/users/u2?everywhere=true")["complete"] == true)
      bed.redis.server.freeze()
      defer { bed.redis.server.resume() }
      let client = try RawClient(port: bed.port)
      client.send(
        "DELETE /v1/users/u1?everywhere=true HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
          + "Authorization: Bearer \(bed.key(.admin))\r\n\r\n")
      // By then it is not waited for any more; its id is in Redis before anybody hears of it.
      #expect(!client.waitForClose(milliseconds: 7_000))
      bed.redis.server.resume()
      let answer = try #require(client.readToEnd())
      #expect(answer.hasPrefix("HTTP/1.1 202 ") && answer.contains("Retry-After: 5"), "\(answer)")
      #expect(answer.contains(#""complete":false"#), "\(answer)")
      let place = try #require(answer.firstRange(of: "Location: "))
      let path = String(answer[place.upperBound...].prefix { $0 != "\r\n" })
      var record = try bed.ask("GET", path)
      while record["state"] == "running" { record = try bed.ask("GET", path) }
      #expect(record["state"] == "done" && record["complete"] == true, "\(record.body)")
      #expect(record["erased"]?.object?["devices"] == 1, "\(record.body)")
    }
  }
}
