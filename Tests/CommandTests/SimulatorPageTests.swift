import Checkout
import Processes
import Testing

/// What docs/simulator.md tells people to type, as it stands there, but for the port.
@Suite struct SimulatorPageTests {
  @Test func theExampleAnswersWhatThePageSays() throws {
    let page = try Checkout.text("docs/simulator.md")
    let block = try #require(page.split(separator: "```sh\n").last?.split(separator: "```").first)
    let commands = block.replacing("2198", with: "\(try LocalPort.findFree())")
    let expected = block.split(separator: "\n").filter { $0.hasPrefix("push ") }.map {
      String($0.split(separator: "# ").last ?? "")
    }
    #expect(expected.count == 6)
    let said = try ChildProcess.run(
      [
        "bash", "-c",
        """
        exec 2>&1 && set -e && trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$apns"' EXIT
        fanfare() { exec '\(Command.path)' "$@" --die-with-parent 2> /dev/null; }
        \(commands)
        """,
      ])
    // The answer to the new script stands between the others.
    let lines = said.split(separator: "\n").map(String.init).filter { $0 != "{}" }
    #expect(lines == expected, "\(said)")
  }

  /// Each member that the reader takes is in the page's tables.
  @Test func everyMemberIsExplained() throws {
    let page = try Checkout.text("docs/simulator.md")
    let members = [
      "rules", "mix", "latency_ms", "jitter_ms", "streams", "goaway_after", "goaway_behind",
      "goaway_code", "drop_after", "silent_after", "cut_after", "end_after", "tokens", "prefix",
      "topic", "answers", "status", "reason",
      "timestamp", "retry_after", "body", "silence", "drop", "reset", "times",
    ]
    let script = try #require(page.split(separator: "## Scripts").last)
    for member in members { #expect(script.contains("`\(member)`"), "\(member)") }
  }
}
