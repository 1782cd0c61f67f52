import Record
import ServerProcesses
import Terminal
import Testing
import Threads

@testable import Demo
@testable import Devices
@testable import LocalStack

/// The report over all platforms.
@Suite struct DemoReportTests {
  private static let tokens = ["aa", "b:b", "https://push.test/push/1-x"]

  /// Each platform has one living device, and its ledger these acceptances of it.
  private func report(apple: Int, android: Int, browsers: Int = 1) throws -> DemoReport {
    let accepted = [apple, android, browsers]
    let platforms = [
      DemoPlatform.apple(share: 0.4), .android(share: 0.45), try .browsers(share: 0.15),
    ]
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
    let status = FanOutStatus(fields: ["recipients": "3", "pushes": "3", "accepted": "3"])
    let comparison = CounterComparison(
      FanOutCounters(status), ledger: results.map(\.ledger).reduce(LedgerTotals(), +),
      retriedReasons: [],
      expected: ExpectedCounters(
        followers: 3, devices: 3, mutedDevices: 0, deadBindingsGone: 0))
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

  @Test func oneAcceptanceOfEachDeviceIsGood() throws {
    let report = try report(apple: 1, android: 1)
    #expect(report.isGood && report.lost == 0 && report.duplicated == 0)
    #expect(report.firstPushMilliseconds == 1)
    let lines = text(report).split(separator: "\n")
    for platform in ["Apple", "Android", "Browsers"] {
      #expect(lines.contains { $0.hasPrefix("  \(platform) ") && $0.contains("1  devices") })
    }
    let json = report.json.serialized()
    #expect(json.contains(#"{"platform":"apns","devices":1,"accepted":1,"reached":1,"#))
    #expect(json.contains(#"{"platform":"fcm","devices":1,"accepted":1,"reached":1,"#))
    #expect(json.contains(#"{"platform":"webpush","devices":1,"accepted":1,"reached":1,"#))
  }

  @Test(arguments: [(0, 2, 1), (2, 0, 1), (2, 1, 0)])
  func aDeviceThatOnePlatformMissedIsLost(apple: Int, android: Int, browsers: Int) throws {
    let report = try report(apple: apple, android: android, browsers: browsers)
    // The sums agree with Redis: only the audit of the platform finds it.
    #expect(report.comparison.differences.map(\.name) == ["tokens"])
    #expect(report.lost == 1 && report.duplicated == 1 && !report.isGood)
    #expect(text(report).contains("not asked for"))
  }

  @Test func allPlatformsDuplicatesAreAdded() throws {
    let report = try report(apple: 3, android: 2, browsers: 2)
    #expect(report.duplicated == 4 && report.lost == 0)
  }

  @Test func platformsShareTheDevices() throws {
    let platforms = [
      DemoPlatform.apple(share: 0.5), .android(share: 0.3), try .browsers(share: 0.2),
    ]
    let devices = platforms.map(\.devices)
    #expect(devices.map(\.share) == [0.5, 0.3, 0.2])
    #expect(devices.allSatisfy { $0.canBeDead })
  }

  /// The worker and the simulator count the same refusals, by other words.
  @Test func reasonsOfBrowsersAreNamedAsTheWorkerNamesThem() throws {
    let platform = try DemoPlatform.browsers(share: 1)
    let named = platform.named(["gone": 3, "internal": 1, "bad_gateway": 2, "bad_ttl": 5])
    #expect(named == ["Gone": 3, "ServerError": 3, "bad_ttl": 5])
    #expect(platform.goneReason == "Gone" && platform.retriedReasons.contains("ServerError"))
    #expect(DemoPlatform.apple(share: 1).named(["Unregistered": 2]) == ["Unregistered": 2])
  }
}
