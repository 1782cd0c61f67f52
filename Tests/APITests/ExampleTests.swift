import Glibc
import LocalStack
import Telemetry
import Testing

@testable import API

/// `examples`: each does what it says, in its own language. One after the other: a build of Go
/// takes a thread for seconds, and the server needs one.
@Suite(.serialized) struct ExampleTests {
  private static let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()

  @Test(arguments: [["python3", "python/backend.py"], ["node", "node/backend.mjs"]])
  func aBackendBindsFollowsAndEmits(_ command: [String]) async throws {
    // Its event happens now.
    try await APIBed.run({ $0.wallClock = { WallClock.nowMilliseconds() } }) { bed in
      let printed = try ChildProcess.run([
        "env", "FANFARE_URL=http://127.0.0.1:\(bed.port)", "FANFARE_KEY=\(bed.key(.appServer))",
        command[0], "\(Self.root)/examples/\(command[1])",
      ])
      #expect(printed.split(separator: "\n").count >= 6, "\(printed)")
      #expect(try bed.ask("GET", "/v1/audiences/s42")["followers"] == 1)
      #expect(try bed.ask("GET", "/v1/users/u1/devices")["devices"]?.array?.isEmpty == true)
      #expect(try bed.ask("GET", "/v1/users/u1/profile")["profile"]?.object?["locale"] == "ja")
      #expect(bed.audit.lines.count == 5)
    }
  }
}
