import Devices
import LocalStack
import Settings
import Terminal
import Testing

@testable import VerbSupport

/// Which exit code a room's error becomes.
@Suite struct CommandFailureTests {
  @Test func settingsAreTheConfigurations() {
    let finding = SettingsFinding(.problem, place: "a.yaml:1:2", key: nil, message: "is wrong")
    let failure = CommandFailure(
      SettingsError(code: .invalidConfiguration, problems: [finding]))
    #expect(failure.code == .config)
    #expect(failure.findings == [finding.description])
  }

  @Test(arguments: [
    (LocalStackError.Kind.failed, ExitCode.failed), (.unavailable, .unavailable),
    (.configuration, .config), (.interrupted, .retryLater),
  ])
  func localRunsHaveACodeForEachKind(kind: LocalStackError.Kind, code: ExitCode) async {
    let failure = await #expect(throws: CommandFailure.self) {
      try await CommandFailure.from { () async throws(LocalStackError) in
        throw LocalStackError(kind, "no", findings: ["a"])
      }
    }
    #expect(failure?.code == code && failure?.message == "no" && failure?.findings == ["a"])
  }
}
