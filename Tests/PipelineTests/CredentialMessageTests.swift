import Fixtures
import Model
import Telemetry
import Testing

@testable import Pipeline

/// What an operator reads of the files of credentials.
@Suite struct CredentialMessageTests {
  @Test func aChangeNamesThePlatform() {
    let changes: [CredentialChange] = [
      .replaced("key k2"), .refused("no key"), .expires("key k2"), .expired("key k2"),
    ]
    for (platform, title) in [
      (Platform.apns, "APNs"), (.fcm, "FCM"), (.webpush, "Web Push"),
    ] {
      let sink = MemorySink()
      let log = Log(LogOptions(level: .debug, format: .json), sink: sink)
      for change in changes { PlatformCredentialChange(platform, change).report(to: log) }
      #expect(sink.lines.count == changes.count)
      #expect(sink.lines.allSatisfy { $0.contains("credentials for \(title) ") })
    }
  }
}
