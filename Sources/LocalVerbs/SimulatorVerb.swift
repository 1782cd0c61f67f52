import APNsSimulator
import Conformance
import Telemetry
import Terminal
import VerbSupport

/// Apple's push service as a process of our own.
package enum SimulatorVerb {
  private static let selfTest = Option(
    flag: "self-test",
    help: "Test each of Apple's rules, print rule, request and answer, and exit")

  package static let verb = Verb(
    "simulator", summary: "Run a simulator of Apple's push service",
    discussion: """
      Serves HTTP/2 over TLS with a certificate that it creates, checks and answers requests as \
      Apple does, and produces faults on request. It writes the certificate, its authority and the \
      provider key to the directory. When it is ready, it prints one line of JSON with what a \
      worker needs: host, port, ca_file, key_file, key_id, team_id and control_token, and \
      binary_port and feedback_port if you asked for the legacy interface. Without --public-key it \
      creates the provider key too.

      GET /simulator/ledger shows how often each token was requested and accepted, \
      /simulator/pushes?token=HEX the last push to a token, and /simulator/summary the totals. \
      POST /simulator/script replaces the script, and /simulator/reset clears all records. These \
      requests need the header simulator-token with the content of the file control.token in the \
      directory. Tokens that begin with fa4efa4e choose their own answer (docs/simulator.md).

      It runs until SIGTERM or SIGINT, and then prints a summary on standard error.
      """,
    options: SimulatorFlags.all + [selfTest, ProcessOptions.dieWithParent],
    examples: [
      .init("fanfare simulator --directory /tmp/apns", "Run on a free port"),
      .init(
        "fanfare simulator --directory /tmp/apns --port 2197 --latency 40ms --mix 503=0.01",
        "Delay each answer by 40 ms, and answer one request in a hundred with 503"),
      .init(
        "fanfare simulator --directory /tmp/apns --answer dead=410 --goaway-after 1000",
        "Answer 410 for tokens that begin with dead, and end connections after 1,000 requests"),
      .init(
        "curl -s --cacert /tmp/apns/ca.pem -H \"simulator-token: $(cat /tmp/apns/control.token)\" "
          + "https://127.0.0.1:2197/simulator/summary",
        "Show what has arrived so far"),
      .init(
        "fanfare simulator --directory /tmp/apns --self-test",
        "Check that the simulator follows Apple's rules"),
    ], exitCodes: [.ok, .failed], handler: run)

  private static func run(
    _ invocation: Invocation
  ) async throws(CommandFailure) -> ExitCode {
    invocation.obeyParent()
    let options = try SimulatorFlags.options(invocation)
    guard !invocation[selfTest] else { return try await SelfTest.run(options, invocation) }
    let signals = StopSignals.catchAll()
    let log = Log(LogOptions(format: .automatic()))
    let simulator = APNsSimulator(options: options) { log.info($0) }
    let address: APNsSimulatorAddress
    do {
      address = try await simulator.start()
    } catch {
      throw CommandFailure(error.code == .cannotStart ? .failed : .usage, error.description)
    }
    invocation.output.line(ready(address).serialized())
    if invocation.errors.capabilities.isTerminal {
      invocation.errors.line(
        "The simulator is at https://\(address.host):\(address.port); Ctrl-C ends it. For a worker:"
      )
      for setting in workerSettings(address) { invocation.errors.line("  --set \(setting)") }
    }
    await signals.wait()
    let summary = await simulator.stop()
    invocation.errors.line("simulator: \(summary.line)")
    log.flush()
    return .ok
  }

  private static func ready(_ address: APNsSimulatorAddress) -> JSONOutput {
    [
      "host": .text(address.host), "port": .integer(address.port),
      "binary_port": address.binaryPort.map { .integer($0) } ?? .null,
      "feedback_port": address.feedbackPort.map { .integer($0) } ?? .null,
      "ca_file": .text(address.authorityFile),
      "key_file": address.providerKeyFile.map { .text($0) } ?? .null,
      "certificate_file": .text(address.clientCertificateFile),
      "key_id": .text(address.keyID), "team_id": .text(address.teamID),
      "control_token": .text(address.controlToken),
    ]
  }

  private static func workerSettings(_ address: APNsSimulatorAddress) -> [String] {
    var settings: [String] = []
    for server in ["production", "sandbox"] {
      settings.append("apns.\(server).host=\(address.host)")
      settings.append("apns.\(server).port=\(address.port)")
    }
    settings.append("apns.ca_file=\(address.authorityFile)")
    if let file = address.providerKeyFile { settings.append("apns.key_file=\(file)") }
    return settings + ["apns.key_id=\(address.keyID)", "apns.team_id=\(address.teamID)"]
  }
}

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
    let run = try ConformanceRun(address, files, nowSeconds: nowSeconds)
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
