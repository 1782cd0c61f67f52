import APNs
import PushSupport
import Settings
import Terminal
import Testing

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

  private static func apple(_ overrides: (String, String)...) throws -> CommandApple {
    CommandApple(
      try SettingsLoader.load(SettingsInput(environment: [:], overrides: overrides)).settings())
  }

  /// It answers nothing; and channels are asked for at Apple's own servers.
  @Test func aGatewayOfTheLegacyInterfaceIsAskedForNothing() throws {
    let apple = try Self.apple(("apns.production.interface", "binary"))
    let failure = #expect(throws: CommandFailure.self) { try apple.route(.production) }
    #expect(failure?.code == .config && failure?.message.contains("docs/legacy.md") == true)
    #expect(try apple.route(.sandbox).interface == nil)
    for service in [CommandApple.Service.channels, .broadcasts] {
      let route = try apple.route(.production, service)
      #expect(route.interface == nil && route.tls?.applicationProtocols == ["h2"])
    }
  }

  @Test func aFeedbackServiceIsReachedAsTheOthersAre() throws {
    let apple = try Self.apple(("apns.proxy.host", "proxy.example"))
    let route = try apple.feedbackRoute(host: "gateway.example", port: 2196, now: 0)
    #expect("\(route.endpoint)" == "gateway.example:2196" && route.tls?.applicationProtocols == [])
    let other = try apple.route(.production)
    #expect(route.proxy != nil && route.proxy == other.proxy)
  }

  @Test func withoutAKeyNothingIsAsked() throws {
    let apple = CommandApple(
      try SettingsLoader.load(SettingsInput(environment: [:], overrides: [])).settings())
    let failure = #expect(throws: CommandFailure.self) {
      _ = try apple.authorizing(
        apple.route(.production), of: "com.example.live", now: 1_795_248_000_000)
    }
    #expect(
      failure?.code == .config && failure?.findings.contains { $0.contains("key_file") } == true)
  }
}
