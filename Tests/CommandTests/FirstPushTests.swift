import Checkout
import Processes
import Testing

/// The ways from a build to a newcomer's own push, the README's and docs/first-push.md's, and
/// docs/backend.md's on from there, as they are typed, but for the ports and the build.
@Suite struct FirstPushTests {
  /// The TMPDIR of what is typed.
  private let directory: ScratchDirectory

  init() throws { directory = try ScratchDirectory() }

  /// Typed into one shell, which ends at the first command that fails.
  private func type(_ blocks: [String]) throws -> String {
    var typed = blocks.joined()
    for line in ["make build\n", "export PATH=\"$PWD/.build/release:$PATH\"\n"] {
      try #require(typed.contains(line))
      typed = typed.replacing(line, with: "")
    }
    var ports: [ReservedPort] = []
    for port in ["6390", "9192", "2197", "8480"] {
      // The whole number: those that were put in may hold its digits.
      let pattern = try Regex("\\b\(port)\\b")
      guard typed.contains(pattern) else { continue }
      ports.append(try ReservedPort())
      typed = typed.replacing(pattern, with: "\(ports[ports.count - 1].number)")
    }
    defer { withExtendedLifetime(ports) {} }
    return try ChildProcess.run([
      "env", "-u", "FANFARE_CONFIG", "TMPDIR=\(directory.path)", "NO_COLOR=1",
      "timeout", "--kill-after=10", "240", "bash", "-c",
      """
      exec 2>&1 && set -e && trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
      cd '\(Checkout.root)'
      PATH='\(Command.path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 })':"$PATH"
      \(typed)
      echo "typed to the end"
      """,
    ])
  }

  @Test func theOwnTextReachesTheOwnDeviceAndABackendGoesOnFromThere() throws {
    let first = try DocumentPage("docs/first-push.md").blocks(of: "sh")
    let backend = try DocumentPage("docs/backend.md").section("## Try it").blocks(of: "sh")
    try #require(first.last?.hasPrefix("kill ") == true && backend.count >= 3)
    let said = try type(first.dropLast() + backend + [first[first.count - 1]])
    // What is killed at the end may say a last word behind it.
    #expect(said.contains("typed to the end\n"), "\(said)")
    // Of the worker's configuration, and of the API's.
    #expect(said.ranges(of: "no problems, no warnings").count == 2, "\(said)")
    #expect(said.contains("recipients      5,001"), "\(said)")
    let push = try #require(said.split(separator: "\n").first { $0.hasPrefix("{\"token\"") })
    #expect(push.contains(#""body":"Kenさん、Speedrun night""#), "\(push)")
    #expect(push.contains(#""accepted":true"#), "\(push)")
    #expect(said.contains(#""id":"try-2""#), "\(said)")
    #expect(said.contains(#""verdict":"#), "\(said)")
  }

  /// Events are sent until one has the new text: the worker reads templates again now and then.
  @Test func theReadmesCommandsShowTheChangedTextOnEachDevice() throws {
    let blocks = try DocumentPage("README.md").section("## Your first own push").blocks(of: "sh")
    try #require(blocks.count == 3 && blocks[0].hasPrefix("make build\n"))
    let dev = String(blocks[0].split(separator: "\n")[1])
    try #require(dev == ".build/release/fanfare dev")
    let program = "'\(Command.path)'"
    func typed(_ text: String) -> String {
      text.replacing(".build/release/fanfare", with: program)
    }
    let said = try ChildProcess.run([
      "env", "-u", "FANFARE_CONFIG", "NO_COLOR=1", "timeout", "--kill-after=10", "240", "bash",
      "-c",
      """
      exec 2>&1 && set -e && trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
      cd '\(directory.path)'
      \(typed(dev)) --port \(try FreePorts.inARow(6)) > out &
      until grep -q 'emit --streamer' out; do sleep 0.1; done
      send() { \(typed(blocks[2])) }
      send
      until grep -q 'Bea is live - Hi Ken' out; do sleep 0.1; done
      \(typed(blocks[1]))
      until grep -q 'browser  Bea is on air' out; do send; sleep 0.5; done
      kill -INT %1 && wait %1 && cat out && echo "typed to the end"
      """,
    ])
    #expect(said.hasSuffix("typed to the end\n"), "\(said)")
    #expect(said.contains("The worker uses the changed text now"), "\(said)")
    for device in ["iPhone ", "Android", "browser"] {
      #expect(said.contains("Ken's \(device)  Bea is on air - Hi Ken"), "\(said)")
    }
  }
}
