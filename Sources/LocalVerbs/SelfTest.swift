import APNsSimulator
import Conformance
import Terminal
import VerbSupport

/// Whether a simulator answers each of Apple's rules as it must: rule, request, answer.
enum SelfTest {
  /// - Parameter options: of the simulator; it gets a script of its own.
  static func run(
    _ options: APNsSimulatorOptions, _ invocation: Invocation
  ) async throws(CommandFailure) -> ExitCode {
    var options = options
    options.script = PushConformance.script
    let simulator = APNsSimulator(options: options, log: { _ in })
    let outcome: Result<[ConformanceRun.Result], CommandFailure>
    do {
      outcome = .success(
        try await results(of: simulator, nowSeconds: invocation.nowMilliseconds / 1_000))
    } catch let failure as CommandFailure {
      outcome = .failure(failure)
    } catch {
      outcome = .failure(CommandFailure(.failed, "\(error)"))
    }
    await simulator.stop()
    return tell(try outcome.get(), invocation)
  }

  private static func results(
    of simulator: APNsSimulator, nowSeconds: Int64
  ) async throws -> [ConformanceRun.Result] {
    let address = try await simulator.start()
    guard let keyFile = address.providerKeyFile else {
      throw CommandFailure(.usage, "--self-test signs with a key of its own: no --public-key")
    }
    func text(_ path: String) throws(CommandFailure) -> String {
      try CommandFile.read(path, maximumBytes: 64 << 10).text
    }
    let files = ConformanceRun.Files(
      key: try text(keyFile), certificate: try text(address.clientCertificateFile),
      misplacedCertificate: try text(address.misplacedCertificateFile))
    let run = try ConformanceRun(
      address, files, nowSeconds: nowSeconds)
    return await run.results()
  }

  private static func tell(
    _ results: [ConformanceRun.Result], _ invocation: Invocation
  ) -> ExitCode {
    var table = Table([.init("Rule"), .init("Request"), .init("Answer"), .init("")])
    for result in results {
      let request = result.row.request
      table.add([
        result.row.rule, "\(request.method) \(TextLayout.truncated(request.path, to: 48))",
        result.answer, result.isRight ? "ok" : "must be \(result.row.expected)",
      ])
    }
    table.write(to: invocation.output)
    let wrong = results.count { !$0.isRight }
    invocation.output.line("\(results.count) rules asked for, \(wrong) answered wrongly")
    return wrong == 0 ? .ok : .failed
  }
}
