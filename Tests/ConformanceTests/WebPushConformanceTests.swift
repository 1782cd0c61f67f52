import Conformance
import Processes
import Telemetry
import Testing
import WebPushSimulator

/// The simulator of the browsers' push services and its table of rules, each held against the
/// other.
@Suite struct WebPushConformanceTests {
  private func withRun<Result>(
    _ change: (inout WebPushSimulatorOptions) -> Void = { _ in },
    _ body: (WebPushConformanceRun) async throws -> Result
  ) async throws -> Result {
    let directory = try ScratchDirectory()
    var options = WebPushSimulatorOptions(directory: directory.file("webpush"))
    options.makesVAPIDKey = true
    change(&options)
    let simulator = WebPushSimulator(options: options, log: { _ in })
    let address = try await simulator.start()
    let key = try ChildProcess.run(["cat", #require(address.vapidKeyFile)])
    let run = try WebPushConformanceRun(
      simulator, address, vapidKey: key, nowSeconds: WallClock.nowMicroseconds() / 1_000_000)
    let result = try await body(run)
    await simulator.stop()
    return result
  }

  @Test(arguments: [false, true])
  func theSimulatorAnswersEachRuleAsTheServices(endpointsNamePort: Bool) async throws {
    let results = try await withRun({ $0.endpointsNamePort = endpointsNamePort }) {
      try await $0.results()
    }
    for result in results {
      #expect(
        result.isRight,
        "\(result.rule): \(result.answer), must be \(result.correction ?? result.expected)")
      #expect(result.worker?.does != nil, "\(result.rule)")
    }
    #expect(results.count > 250)
  }

  @Test func wrongAnswersAreFound() async throws {
    let results = try await withRun({ $0.script.mix = [.init(.unavailable, probability: 1)] }) {
      try await $0.results()
    }
    let sound = results.filter { $0.rule.hasSuffix(": a sound message is accepted") }
    #expect(sound.count == 5 && sound.allSatisfy { !$0.isRight })
    #expect(
      sound.map(\.answer) == [
        "503", "503 errno 201", "503 ServiceUnavailable", "503 dropped", "503",
      ])
    #expect(sound.allSatisfy { $0.expected.hasSuffix("with location") })
    // What is refused before a script is asked is refused as ever.
    #expect(results.contains { $0.rule == "apple: a TTL is needed" && $0.isRight })
  }

  /// A rule has both sides: what keeps it is taken, what breaks it is not.
  @Test func eachServiceTakesAndRefuses() async throws {
    let rows = try await withRun { try await $0.rows() }
    for service in ServiceDialect.allCases {
      let own = rows.filter { $0.rule.hasPrefix("\(service.rawValue): ") }
      #expect(own.count { $0.answer.hasPrefix("201") } > 15, "\(service)")
      for status in [400, 404, 405, 410] {
        #expect(own.contains { $0.answer.hasPrefix("\(status)") }, "\(service): \(status)")
      }
      // Each message is to a subscription of its own, and to this service.
      #expect(Set(own.map(\.request.path)).count == own.count)
      #expect(own.allSatisfy { ServiceDialect(host: $0.request.authority ?? "") == service })
    }
  }
}
