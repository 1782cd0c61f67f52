import Record
import ServerProcesses
import Terminal
import Testing
import Threads

@testable import Demo
@testable import Devices
@testable import LocalStack

/// The report over both platforms.
@Suite struct DemoReportTests {
  private static let tokens = ["aa", "b:b"]

  /// Each platform has one living device, and its ledger these acceptances of it.
  private func report(apple: Int, android: Int) -> DemoReport {
    let accepted = [apple, android]
    let platforms = [DemoPlatform.apple(share: 0.5), .android(share: 0.5)]
    var results: [PlatformResult] = []
    for (kind, platform) in platforms.enumerated() {
      var ledger = Ledger()
      var totals = LedgerTotals()
      if accepted[kind] > 0 {
        ledger.add(
          Self.tokens[kind],
          LedgerEntry(
            requests: accepted[kind], accepted: accepted[kind], firstArrival: 1_000,
            lastStatus: 200))
        totals.requests = accepted[kind]
        totals.accepted = accepted[kind]
        totals.tokens = 1
        totals.firstArrival = Int64(5_000 + kind)
      }
      var audit = DeliveryAudit(ledger: ledger)
      audit.expect(TokenKey(of: Self.tokens[kind]), .living)
      results.append(
        PlatformResult(platform: platform, devices: 1, audit: audit, ledger: totals))
    }
    let status = FanOutStatus(fields: ["recipients": "2", "pushes": "2", "accepted": "2"])
    let comparison = CounterComparison(
      FanOutCounters(status), ledger: results.map(\.ledger).reduce(LedgerTotals(), +),
      retriedReasons: [],
      expected: ExpectedCounters(
        followers: 2, devices: 2, mutedDevices: 0, deadBindingsGone: 0))
    return DemoReport(
      fanOut: MeasuredFanOut(
        event: GoLiveEvent(id: "e", streamer: "s"), emittedAt: 4_000, status: status,
        deadLetters: 0, workerCPUNanoseconds: 0, workerPeakBytes: 0, redisCPUNanoseconds: []),
      totals: SyntheticAudience.Totals(), platforms: results, comparison: comparison)
  }

  private func text(_ report: DemoReport) -> String {
    let said = ThreadLock("")
    let console = Console(capabilities: .plain, width: { nil }) { bytes in
      said.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
      return true
    }
    report.write(to: console)
    return said.withLock { $0 }
  }

  @Test func oneAcceptanceOfEachDeviceIsGood() {
    let report = report(apple: 1, android: 1)
    #expect(report.isGood && report.lost == 0 && report.duplicated == 0)
    #expect(report.firstPushMilliseconds == 1)
    let lines = text(report).split(separator: "\n")
    for platform in ["Apple", "Android"] {
      #expect(lines.contains { $0.hasPrefix("  \(platform) ") && $0.contains("1  devices") })
    }
    let json = report.json.serialized()
    #expect(json.contains(#"{"platform":"apns","devices":1,"accepted":1,"reached":1,"#))
    #expect(json.contains(#"{"platform":"fcm","devices":1,"accepted":1,"reached":1,"#))
  }

  @Test(arguments: [(0, 2), (2, 0)])
  func aDeviceThatOnePlatformMissedIsLost(apple: Int, android: Int) {
    let report = report(apple: apple, android: android)
    // The sums agree with Redis: only the audit of the platform finds it.
    #expect(report.comparison.differences.map(\.name) == ["tokens"])
    #expect(report.lost == 1 && report.duplicated == 1 && !report.isGood)
    #expect(text(report).contains("not asked for"))
  }

  @Test func bothPlatformsDuplicatesAreAdded() {
    let report = report(apple: 3, android: 2)
    #expect(report.duplicated == 3 && report.lost == 0)
  }

  @Test func platformsShareTheDevices() {
    let share = 0.3
    let devices = [DemoPlatform.apple(share: 1 - share), .android(share: share)].map(\.devices)
    #expect(devices.map(\.share) == [0.7, 0.3])
    #expect(devices.allSatisfy { !$0.deadTokenPrefix.isEmpty })
  }
}
