import Fixtures
import Glibc
import Redis
import ServerProcesses
import Telemetry
import Testing

@testable import API

@Suite struct APIPermissionsTests {
  /// A newer version may need more: what was not granted is said at once, before any request.
  @Test func allMissingCommandsAreNamedWhenTheAPIStarts() async throws {
    let server = try RedisServerProcess()
    _ = try server.cli(
      "ACL", "SETUSER", "api", "on", ">secret", "~*", "+@all", "-hsetnx", "-xrevrange", "-unlink")
    let sink = MemorySink()
    try await APIBed.run({
      $0.redis = RedisOptions(port: server.port)
      $0.redis.username = "api"
      $0.redis.password = "secret"
      $0.log = Log(sink: sink)
    }) { bed in
      var lines: [String] = []
      let deadline = ContinuousClock.now + .seconds(20)
      while lines.isEmpty, ContinuousClock.now < deadline {
        _ = poll(nil, 0, 10)
        _ = try bed.ask("GET", "/v1/users/u1/devices")
        lines = sink.lines.filter { $0.contains("our Redis user may not use commands") }
      }
      #expect(lines.count == 1)
      for command in ["HSETNX", "XREVRANGE", "UNLINK"] {
        #expect(lines.first?.contains(command) == true)
      }
      sink.removeAll()
    }
  }
}
