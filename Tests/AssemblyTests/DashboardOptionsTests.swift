import API
import Assembly
import Settings
import Telemetry
import Testing

/// Where `fanfare dashboard` listens.
@Suite struct DashboardOptionsTests {
  private static func options(
    _ address: String, _ change: (inout Settings) -> Void = { _ in }
  ) throws -> APIOptions {
    var settings = Settings.defaults
    change(&settings)
    return try Assembly.dashboardOptions(settings, address: address, port: 0, log: Log())
  }

  @Test(arguments: ["127.0.0.1", "127.8.0.1", "localhost", "::1"])
  func onThisMachineNoKeyIsNeeded(address: String) throws {
    guard case .dashboard(needsKey: false) = try Self.options(address).mode else {
      Issue.record("a key is needed")
      return
    }
  }

  @Test(arguments: ["0.0.0.0", "192.0.2.1", "127.0.0.1.example", "::"])
  func elsewhereKeysAreNeeded(address: String) {
    let error = #expect(throws: SettingsError.self) { try Self.options(address) }
    #expect(error?.problems.first?.key == "api.keys_file")
    #expect(error?.problems.first?.message.contains("who is streaming") == true)
  }
}
