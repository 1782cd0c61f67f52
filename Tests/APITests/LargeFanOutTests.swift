import JSON
import Testing

@testable import API

/// A hash under the key of a fan-out that no worker wrote.
@Suite struct LargeFanOutTests {
  @Test func aHashOfSomebodyElsesIsNotRead() async throws {
    try await APIBed.run { bed in
      _ = try bed.redis.server.cli(
        "EVAL",
        """
        redis.call('HSET', KEYS[1], 'state', 'running', 'streamer', 's1')
        for i = 1, 200000 do redis.call('HSET', KEYS[1], 'f' .. i, '1') end
        """, "1", "ff:{e:e1}")
      for target in ["", "/recipients/u1"] {
        let answer = try bed.ask("GET", "/v1/fanouts/e1\(target)", as: .readOnly)
        #expect(answer.status == 413 && answer.problem == "too-large", "\(target)")
        #expect(answer.detail.contains("200002 fields"), "\(answer.detail)")
      }
      #expect(try bed.ask("POST", "/v1/fanouts/e1/cancel", as: .admin).status == 413)
      #expect(try bed.redis.server.cli("HEXISTS", "ff:{e:e1}", "brake") == "0")
    }
  }
}
