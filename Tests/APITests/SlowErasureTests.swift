import Fixtures
import JSON
import Testing

@testable import API

/// An erasure that takes longer than a client waits.
@Suite struct SlowErasureTests {
  /// The answer comes while the connection has still time for one, by what both have unless it is
  /// set; whoever asks again hears of the end.
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
      let path = "/v1/users/u1?everywhere=true"
      var answer = try bed.ask("DELETE", path)
      #expect(answer.status == 202 && answer["complete"] == false)
      #expect(answer.head.contains("Retry-After: 5"))
      bed.redis.server.resume()
      while answer.status == 202 { answer = try bed.ask("DELETE", path) }
      #expect(answer.status == 200 && answer["complete"] == true)
      #expect(answer["erased"]?.object?["devices"] == 1)
    }
  }
}
