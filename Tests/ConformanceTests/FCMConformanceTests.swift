import FCMSimulator
import Processes
import TLS
import Telemetry
import Testing

@testable import Conformance

/// The FCM simulator and its tables of rules, each held against the other.
@Suite struct FCMConformanceTests {
  private static let key = Result { try RS256KeyPair.generate() }

  private func results(
    _ change: (inout FCMSimulatorOptions) -> Void = { _ in }
  ) async throws -> [ConformanceResult] {
    let directory = try ScratchDirectory()
    var options = FCMSimulatorOptions(directory: directory.file("fcm"))
    options.key = try Self.key.get()
    change(&options)
    let simulator = FCMSimulator(options: options, log: { _ in })
    let address = try await simulator.start()
    let file = try ChildProcess.run(["cat", address.serviceAccountFile])
    let run = try FCMConformanceRun(
      address, serviceAccount: Array(file.utf8), projectNumber: options.projectNumber,
      nowSeconds: WallClock.nowMicroseconds() / 1_000_000)
    let results = await run.results()
    await simulator.stop()
    return results
  }

  @Test func theSimulatorAnswersEachRuleAsFCM() async throws {
    let results = try await results()
    for result in results {
      #expect(
        result.isRight,
        "\(result.rule): \(result.answer), must be \(result.correction ?? result.expected)")
      #expect(result.worker?.does != nil, "\(result.rule)")
    }
    #expect(results.count > 100)
  }

  @Test func wrongAnswersAreFound() async throws {
    let results = try await results { $0.script.tokenAnswers = [.init(.invalidGrant)] }
    // No access token is issued: what needs one is answered wrongly, and what needs none is not.
    #expect(results.contains { $0.rule == "an access token is needed" && $0.isRight })
    let sound = try #require(results.first { $0.rule == "a sound message is accepted" })
    #expect(!sound.isRight)
    #expect(sound.answer == "401 UNAUTHENTICATED")
    #expect(sound.expected == "200 named projects/simulated-project/messages/…")
  }

  /// The simulator may be right, and the worker wrong.
  @Test func wrongReactionsAreFound() throws {
    func result(_ does: WorkerReaction?, _ ought: WorkerReaction?) throws -> ConformanceResult {
      let row = try #require(MessageConformance.rows(projectID: "p", projectNumber: "1").first)
      return ConformanceResult(
        rule: row.rule, request: row.request, answer: "404 NOT_FOUND", expected: "404 NOT_FOUND",
        isAnswered: true, worker: (does, ought))
    }
    #expect(try result(.holds, .holds).isRight)
    #expect(try result(.removes, .holds).correction == "worker: waits, alerts")
    #expect(try result(nil, nil).correction == "worker: no rule for 404 NOT_FOUND")
    #expect(WorkerReaction.wanted(toFCM: "418") == nil)
    #expect(WorkerReaction.wanted(toPushService: "418") == nil)
    #expect(WorkerReaction.wanted(toTokenEndpoint: "500") == nil)
  }

  /// Those without an answer are tried by the simulator's own tests.
  @Test func everyFaultWithAnAnswerHasARow() {
    let answered = FCMFault.allCases.filter { $0.refusal != nil && $0 != .expiredBearer }
    let rows = MessageConformance.answeredByToken
    #expect(Set(rows.map(\.fault)) == Set(answered))
    for row in rows { #expect(row.answer.hasPrefix("\(row.fault.refusal?.status ?? 0)")) }
  }

  /// A rule has both sides: what keeps it is taken, what breaks it is not.
  @Test func eachTargetIsTakenAndRefused() {
    let rows = MessageConformance.rows(projectID: "p", projectNumber: "1")
    for target in ["token", "fid", "topic"] {
      let named = rows.filter { $0.request.body.contains("{\"\(target)\":") }
      #expect(named.contains { $0.answer == "200" }, "\(target)")
      #expect(named.contains { $0.answer.hasPrefix("400 ") }, "\(target)")
    }
  }
}
