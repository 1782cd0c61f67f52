import Checkout
import Processes
import Testing

/// The README's way from a build to a newcomer's own push, as it is typed there, but for the ports
/// and the build.
@Suite struct FirstPushTests {
  /// The TMPDIR of what is typed.
  private let directory: ScratchDirectory

  init() throws { directory = try ScratchDirectory() }

  @Test func theOwnTextReachesTheOwnDevice() throws {
    var typed = try DocumentPage("README.md").section("## Your first own push").blocks(of: "sh")
      .joined()
    for line in ["make build\n", "export PATH=\"$PWD/.build/release:$PATH\"\n"] {
      try #require(typed.contains(line))
      typed = typed.replacing(line, with: "")
    }
    for port in ["6390", "9192", "2197"] {
      try #require(typed.contains(port))
      typed = typed.replacing(port, with: "\(try LocalPort.findFree())")
    }
    let said = try ChildProcess.run([
      "env", "-u", "FANFARE_CONFIG", "TMPDIR=\(directory.path)", "NO_COLOR=1",
      "timeout", "--kill-after=10", "240", "bash", "-c",
      """
      exec 2>&1 && set -e && trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
      cd '\(Checkout.root)'
      PATH='\(Command.path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 })':"$PATH"
      \(typed)
      """,
    ])
    #expect(said.contains("no problems, no warnings"), "\(said)")
    #expect(said.contains("recipients      5,001"), "\(said)")
    let push = try #require(said.split(separator: "\n").first { $0.hasPrefix("{\"token\"") })
    #expect(push.contains(#""body":"Kenさん、Speedrun night""#), "\(push)")
    #expect(push.contains(#""accepted":true"#), "\(push)")
  }
}
