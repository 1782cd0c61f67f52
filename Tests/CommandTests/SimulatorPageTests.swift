import FCMSimulator
import Processes
import Testing
import WebPushSimulator

/// What docs/simulator.md tells people to type, as it stands there, but for the ports.
@Suite struct SimulatorPageTests {
  private static let page = Result { try DocumentPage("docs/simulator.md") }

  /// - Parameter pushes: in the example.
  private func expectAnswers(of heading: String, port: String, pushes: Int) throws {
    let block = try #require(try Self.page.get().section(heading).blocks(of: "sh").last)
    let commands = block.replacing(port, with: "\(try LocalPort.findFree())")
    let expected = block.split(separator: "\n").filter { $0.hasPrefix("push ") }.map {
      String($0.split(separator: "# ").last ?? "")
    }
    #expect(expected.count == pushes)
    let said = try ChildProcess.run(
      [
        "bash", "-c",
        """
        exec 2>&1 && set -e
        trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$apns" "$fcm" "$webpush"' EXIT
        fanfare() { exec '\(Command.path)' "$@" --die-with-parent 2> /dev/null; }
        \(commands)
        """,
      ])
    // The answer to the new script stands between the others.
    let lines = said.split(separator: "\n").map(String.init).filter { $0 != "{}" }
    #expect(lines == expected, "\(said)")
  }

  @Test func theExampleAnswersWhatThePageSays() throws {
    try expectAnswers(of: "## Scripts", port: "2198", pushes: 6)
  }

  @Test func theExampleOfFCMAnswersWhatThePageSays() throws {
    try expectAnswers(of: "## Firebase Cloud Messaging", port: "2199", pushes: 5)
  }

  @Test func theExampleOfBrowsersAnswersWhatThePageSays() throws {
    try expectAnswers(of: "## Browsers", port: "2196", pushes: 6)
  }

  /// Each member that the reader takes is in the page's tables.
  @Test func everyMemberIsExplained() throws {
    let members = [
      "rules", "mix", "latency_ms", "jitter_ms", "streams", "goaway_after", "goaway_behind",
      "goaway_code", "drop_after", "silent_after", "cut_after", "end_after", "tokens", "prefix",
      "topic", "answers", "status", "reason",
      "timestamp", "retry_after", "body", "silence", "drop", "reset", "times",
    ]
    let script = try Self.page.get().section("## Scripts").text
    for member in members { #expect(script.contains("`\(member)`"), "\(member)") }
  }

  @Test func everyMemberAndFaultOfFCMIsExplained() throws {
    let members = [
      "rules", "mix", "latency_ms", "jitter_ms", "streams", "quota_per_minute",
      "access_token_seconds", "expired_access_tokens", "token_answers", "goaway_after",
      "goaway_behind", "drop_after", "silent_after", "tokens", "prefix", "answers", "fault",
      "status", "body", "retry_after", "times",
    ]
    let names =
      members + FCMFault.allCases.map(\.rawValue) + OAuthFault.allCases.map(\.rawValue)
    let text = try Self.page.get().section("## Firebase Cloud Messaging").text
    for name in names { #expect(text.contains("`\(name)`"), "\(name)") }
  }

  @Test func everyMemberAndFaultOfBrowsersIsExplained() throws {
    let members = [
      "host", "count", "first", "application_server_key", "tries", "rules", "mix", "latency_ms",
      "jitter_ms", "slow_ms", "streams", "goaway_after", "goaway_behind", "drop_after",
      "silent_after", "endpoints", "prefix", "answers", "fault", "status", "body", "retry_after",
      "times",
    ]
    let text = try Self.page.get().section("## Browsers").text
    for name in members + WebPushFault.allCases.map(\.rawValue) {
      #expect(text.contains("`\(name)`"), "\(name)")
    }
  }
}
