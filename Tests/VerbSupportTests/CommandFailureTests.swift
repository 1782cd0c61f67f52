import Devices
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
}
