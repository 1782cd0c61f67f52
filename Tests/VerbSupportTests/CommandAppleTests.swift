import Settings
import Terminal
import Testing
import VerbSupport

@Suite struct CommandAppleTests {
  /// Apple's own, of each service in each environment, unless a setting says another.
  @Test func eachServiceHasAServerInEachEnvironment() throws {
    let report = SettingsLoader.load(
      SettingsInput(environment: [:], overrides: [("apns.sandbox.broadcast_port", "2197")]))
    let apple = CommandApple(try report.settings())
    #expect("\(try apple.route(.production).endpoint)" == "api.push.apple.com:443")
    #expect("\(try apple.route(.sandbox).endpoint)" == "api.sandbox.push.apple.com:443")
    #expect("\(try apple.route(.production, .broadcasts).endpoint)" == "api.push.apple.com:443")
    #expect(
      "\(try apple.route(.sandbox, .broadcasts).endpoint)" == "api.sandbox.push.apple.com:2197")
    #expect(
      "\(try apple.route(.production, .channels).endpoint)"
        == "api-manage-broadcast.push.apple.com:2196")
    #expect(
      "\(try apple.route(.sandbox, .channels).endpoint)"
        == "api-manage-broadcast.sandbox.push.apple.com:2195")
  }

  @Test func withoutAKeyNothingIsAsked() throws {
    let apple = CommandApple(
      try SettingsLoader.load(SettingsInput(environment: [:], overrides: [])).settings())
    let failure = #expect(throws: CommandFailure.self) { try apple.authorization() }
    #expect(
      failure?.code == .config && failure?.findings.contains { $0.contains("key_file") } == true)
  }
}
