import APNsSimulator
import Conformance
import Processes
import Telemetry
import Testing

/// The simulator and its table of Apple's rules, each held against the other.
@Suite struct ConformanceTests {
  private static let now: Int64 = 1_700_000_000

  /// Each reason is provoked by a request, or stands on the list of those that need a script.
  @Test func everyReasonOfAPushHasARow() {
    let rows = PushConformance.rows(nowSeconds: Self.now)
    for reason in AppleReason.allCases {
      #expect(
        rows.contains { $0.reason == reason.rawValue && $0.status == reason.status }, "\(reason)")
    }
    let byRequest = Set(rows.filter { $0.rule != "by script" }.compactMap(\.reason))
    for reason in PushConformance.scriptedReasons {
      #expect(!byRequest.contains(reason.rawValue), "\(reason) needs no script")
    }
  }

  @Test func everyReasonOfChannelsHasARow() {
    let channels = ChannelConformance.Channels(storesNothing: "a", storesLast: "b", spare: "c")
    let rows = ChannelConformance.rows(channels, nowSeconds: Self.now)
    for reason in BroadcastReason.allCases {
      #expect(
        rows.contains { $0.reason == reason.rawValue && $0.status == reason.status }, "\(reason)")
    }
  }

  /// A rule has both sides: what keeps it is taken, what breaks it is not.
  @Test func eachPushTypeIsTakenAndRefused() {
    let rows = PushConformance.rows(nowSeconds: Self.now)
    func types(_ isWanted: (ConformanceRow) -> Bool) -> Set<String> {
      Set(
        rows.filter(isWanted).compactMap { row in
          row.request.fields.first { $0.name == "apns-push-type" }?.value
        })
    }
    let all: Set<String> = [
      "alert", "background", "complication", "controls", "fileprovider", "liveactivity",
      "location", "mdm", "pushtotalk", "voip", "widgets",
    ]
    #expect(types { $0.status == 200 } == all)
    let suffixed = all.subtracting(["alert", "background", "mdm"])
    #expect(types { $0.reason == "TopicDisallowed" } == suffixed)
  }

  @Test func theSimulatorAnswersEachRuleAsApple() async throws {
    let directory = try ScratchDirectory()
    var options = APNsSimulatorOptions(directory: directory.file("apns"))
    options.script = PushConformance.script
    let simulator = APNsSimulator(options: options, log: { _ in })
    let address = try await simulator.start()
    let key = try #require(address.providerKeyFile)
    let files = ConformanceRun.Files(
      key: try ChildProcess.run(["cat", key]),
      certificate: try ChildProcess.run(["cat", address.clientCertificateFile]),
      misplacedCertificate: try ChildProcess.run(["cat", address.misplacedCertificateFile]))
    let run = try ConformanceRun(
      address, files, nowSeconds: WallClock.nowMicroseconds() / 1_000_000)
    let results = await run.results()
    for result in results {
      #expect(result.isRight, "\(result.rule): \(result.answer), must be \(result.expected)")
    }
    #expect(results.count > 100)
    await simulator.stop()
  }
}
