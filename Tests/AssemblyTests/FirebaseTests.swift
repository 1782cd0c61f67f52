import FCMSimulator
import Foundation
import Model
import Processes
import Settings
import Testing

@testable import Assembly

/// From settings and a template to Firebase's wire, against a simulator with rules of its own.
@Suite struct FirebaseTests {
  private static let template = """
    collapse_id: "live-{{streamer.id}}"
    payload:
      aps: { alert: { title: "{{streamer.id}} is live", body: "{{stream.id}}" } }
      n: 7
    """

  private let directory: ScratchDirectory
  private let simulator: FCMSimulator
  private let settings: Settings

  init() async throws {
    directory = try ScratchDirectory()
    simulator = FCMSimulator(options: .init(directory: directory.file("fcm")), log: { _ in })
    let address = try await simulator.start()
    var settings = Settings.defaults
    settings.fcm.host = address.host
    settings.fcm.port = address.port
    settings.fcm.caFile = address.authorityFile
    settings.fcm.serviceAccountFile = address.serviceAccountFile
    self.settings = settings
  }

  @Test func aCheckIsAnswered() async throws {
    let files = try #require(try FCMCredentialFiles.all(settings).first)
    let target = try #require(try Assembly.deliverRoutes(settings)[.fcm])
    #expect(await files.ask(target, timeout: .seconds(20)) == .taken)
    let summary = await simulator.stop()
    #expect(summary.accepted == 0 && summary.accessTokensIssued == 1)
  }

  /// As `fanfare send --validate-only` does.
  @Test func aMessageIsValidatedAndNotDelivered() async throws {
    let files = try #require(try FCMCredentialFiles.all(settings).first)
    let target = try #require(try Assembly.deliverRoutes(settings)[.fcm])
    let reply = try await files.send(
      #"{"message":{"token":"device1:APA91b","data":{"a":"b"}},"validateOnly":true}"#, to: target,
      timeout: .seconds(20))
    #expect(reply.status == 200)
    let summary = await simulator.stop()
    #expect(summary.accepted == 0 && summary.accessTokensIssued == 1)
  }

  @Test func eachDeviceGetsItsMessageOnce() async throws {
    try directory.write(Self.template, to: "live.yaml")
    var settings = settings
    settings.templates.directory = directory.path
    let devices = (0..<250).map { "device\($0):APA91b" } + [MagicTokens.token(.unregistered)]
    let tally = try await EndToEnd.send(
      devices.map { try #require(Binding(member: "fcm:com.example.live:\($0)")) }, settings)
    #expect(tally == .init(pushes: 251, accepted: 250, verdicts: 1))
    let body = try #require(await simulator.lastBody(of: devices[7]))
    let text = String(decoding: body, as: UTF8.self)
    #expect(text.hasPrefix(#"{"message":{"token":"device7:APA91b","android":{"ttl":""#))
    #expect(
      text.hasSuffix(
        #""priority":"HIGH","notification":{"sound":"default","tag":"live-s1"}},"#
          + #""notification":{"title":"s1 is live","body":"x1"},"data":{"n":"7"}}}"#), "\(text)")
    // `make test-judges` names a file, and lets libraries of others read it.
    if let path = ProcessInfo.processInfo.environment["TESTS_JUDGED_FCM"] {
      var lines = ""
      for device in devices.prefix(250) {
        let body = try #require(await simulator.lastBody(of: device))
        lines += String(decoding: body, as: UTF8.self) + "\n"
      }
      try lines.write(toFile: path, atomically: true, encoding: .utf8)
    }
    let summary = await simulator.stop()
    #expect(summary.accepted == 250 && summary.duplicates == 0 && summary.tokens == 251)
    #expect(summary.byErrorCode == ["UNREGISTERED": 1] && summary.accessTokensIssued == 1)
    #expect(summary.mostOpenStreams <= 100 && summary.streamExcesses == 0)
  }
}
