import Model
import Processes
import Settings
import Subscriptions
import Testing
import Text
import WebPushSimulator

@testable import Assembly

/// From settings and a template to the push services of browsers, against a simulator that verifies
/// tokens and decrypts by rules of its own.
@Suite struct BrowserTests {
  private static let hosts = [
    "fcm.googleapis.com", "updates.push.services.mozilla.com", "web.push.apple.com",
    "wns2-par02p.notify.windows.com",
  ]
  private static let template = """
    collapse_id: "live-{{streamer.id}}"
    payload:
      aps: { alert: { title: "{{streamer.id}} is live", body: "{{stream.id}}" } }
      n: 7
    """

  private let directory: ScratchDirectory
  private let simulator: WebPushSimulator
  private let settings: Settings
  private let publicKey: [UInt8]

  init() async throws {
    directory = try ScratchDirectory()
    simulator = WebPushSimulator(
      options: .init(directory: directory.file("webpush")), log: { _ in })
    let address = try await simulator.start()
    try directory.write("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94\n", to: "vapid.key")
    try directory.write(Self.template, to: "live.yaml")
    var settings = Settings.defaults
    settings.webpush.vapidKeyFile = directory.file("vapid.key")
    settings.webpush.subject = "mailto:push@example.com"
    settings.webpush.connectTo = "\(address.host):\(address.port)"
    settings.webpush.caFile = address.authorityFile
    settings.webpush.hosts.append("push.test")
    settings.templates.directory = directory.path
    self.settings = settings
    let keys = try #require(try WebPushKeyFiles(settings)?.publicKeys.first)
    publicKey = try #require(Base64URL.decode(keys.key.utf8))
    #expect(keys.id == "main")
  }

  @Test func eachBrowserGetsItsMessageOnceFromItsOwnService() async throws {
    var devices: [BrowserSubscription] = []
    for number in 0..<200 { devices.append(try await subscription(Self.hosts[number % 4])) }
    devices.append(try await subscription(Self.hosts[1], MagicFault(.gone)))
    let tally = try await EndToEnd.send(devices.map(\.binding), settings)
    #expect(tally.pushes == 201 && tally.accepted == 200 && tally.verdicts == 1)
    let message = try #require(await simulator.lastMessage(of: devices[2].binding.token))
    let text = String(decoding: message, as: UTF8.self)
    #expect(text.contains(#""title":"s1 is live","body":"x1""#), "\(text)")
    let summary = await simulator.stop()
    #expect(summary.accepted == 200 && summary.duplicates == 0)
    #expect(summary.byService.values.sorted() == [50, 50, 50, 50])
    // One token for each service, however many messages.
    #expect(summary.tokenVerifications == 4)
  }

  @Test func aServiceThatSpeaksHTTP1AloneGetsItsOwn() async throws {
    var devices: [BrowserSubscription] = []
    for _ in 0..<20 { devices.append(try await subscription("http1.push.test")) }
    let tally = try await EndToEnd.send(devices.map(\.binding), settings)
    #expect(tally.accepted == 20)
    let summary = await simulator.stop()
    #expect(summary.accepted == 20 && summary.duplicates == 0)
  }

  private func subscription(
    _ host: String, _ magic: MagicFault? = nil
  ) async throws -> BrowserSubscription {
    let made = try await simulator.makeSubscription(
      host: host, applicationServerKey: publicKey, magic)
    return try BrowserSubscription(
      topic: "com.example.live", endpoint: made.endpoint,
      p256dh: Base64URL.encode(made.publicKey), auth: Base64URL.encode(made.secret),
      keyID: nil, rules: Assembly.subscriptionRules(settings))
  }
}
