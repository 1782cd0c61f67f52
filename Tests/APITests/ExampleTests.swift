import Checkout
import Glibc
import Processes
import Telemetry
import Testing

@testable import API

/// `examples`: each does what it says, in its own language. One after the other: a build of Go
/// takes a thread for seconds, and the server needs one.
@Suite(.serialized) struct ExampleTests {
  /// Go builds in a directory of the test's own, without a home directory and without the net.
  private static func offline(_ scratch: ScratchDirectory) -> [String] {
    [
      "env", "GOCACHE=\(scratch.file("go-cache"))", "GOPATH=\(scratch.file("go"))",
      "GOENV=off", "GOFLAGS=", "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off",
    ]
  }

  @Test(arguments: [
    ["python3", "python/backend.py"], ["node", "node/backend.mjs"], ["go", "run", "go/backend.go"],
  ])
  func aBackendBindsFollowsAndEmits(_ command: [String]) async throws {
    let scratch = try ScratchDirectory()
    // Its event happens now.
    try await APIBed.run({ $0.wallClock = { WallClock.nowMilliseconds() } }) { bed in
      let printed = try ChildProcess.run(
        Self.offline(scratch) + [
          "FANFARE_URL=http://127.0.0.1:\(bed.port)", "FANFARE_KEY=\(bed.key(.appServer))",
        ] + command.dropLast() + [Checkout.path("examples/\(command.last ?? "")")])
      #expect(printed.split(separator: "\n").count >= 6, "\(printed)")
      #expect(try bed.ask("GET", "/v1/audiences/s42")["followers"] == 1)
      #expect(try bed.ask("GET", "/v1/users/u1/devices")["devices"]?.array?.isEmpty == true)
      #expect(try bed.ask("GET", "/v1/users/u1/profile")["profile"]?.object?["locale"] == "ja")
      #expect(bed.audit.lines.count == 5)
    }
  }
  @Test(arguments: [["gofmt", "-l"], ["go", "vet"]])
  func theGoIsAsGoWantsIt(_ command: [String]) throws {
    let scratch = try ScratchDirectory()
    // Either would name what is wrong; go vet ends with an error, too.
    let said = try ChildProcess.run(
      Self.offline(scratch) + command + [Checkout.path("examples/go/backend.go")])
    #expect(said == "")
  }
}
