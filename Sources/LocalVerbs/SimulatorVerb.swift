import Conformance
import Telemetry
import Terminal
import VerbSupport

/// The push service of a platform as a process of our own.
package enum SimulatorVerb {
  private static let selfTest = Option(
    flag: "self-test",
    help: "Test each of the platform's rules, print rule, request and answer, and exit")

  package static let verb = Verb(
    "simulator", summary: "Run a simulator of a platform's push service",
    discussion: """
      Serves HTTP/2 over TLS with a certificate that it creates, checks and answers requests as \
      the real service does, and produces faults on request. With --platform fcm it is Firebase \
      Cloud Messaging (HTTP v1) and Google's token endpoint; with --platform webpush it is the \
      push services of all browsers, which it tells apart by a request's host, with HTTP/1.1 too. \
      It writes the certificate, its authority and the credentials for its clients to the \
      directory: a provider key, the file of a service account, or a VAPID key. When it is ready, \
      it prints one line of JSON with what a worker needs: host, port, ca_file and control_token; \
      key_file, key_id and team_id, and binary_port and feedback_port if you asked for the legacy \
      interface; with fcm service_account_file and project_id; with webpush vapid_key_file and \
      subject. Without --public-key it creates the provider key too.

      GET /simulator/ledger shows how often each token was requested and accepted, \
      /simulator/pushes?token=TOKEN the last push to a token, and /simulator/summary the totals. \
      POST /simulator/script replaces the script, and /simulator/reset clears all records. These \
      requests need the header simulator-token with the content of the file control.token in the \
      directory. Tokens that begin with fa4efa4e, or with fcm with fault:, choose their own \
      answer. With webpush a token is an endpoint, and POST /simulator/subscriptions makes \
      subscriptions, also some that choose their own answer (docs/simulator.md).

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
        "fanfare simulator --platform fcm --directory /tmp/fcm --answer dead=unregistered",
        "Simulate FCM, to which tokens that begin with dead are unregistered"),
      .init(
        "fanfare simulator --platform webpush --directory /tmp/webpush --mix gone=0.01",
        "Simulate the push services of the browsers, where one subscription in a hundred is gone"),
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
    let platform = try SimulatorFlags.platform(invocation)
    guard !invocation[selfTest] else {
      return tell(try await platform.test(invocation), invocation)
    }
    let signals = StopSignals.catchAll()
    let log = Log(LogOptions(format: .automatic()))
    let simulator = try await platform.start(invocation) { log.info($0) }
    invocation.output.line(simulator.ready.serialized())
    if invocation.errors.capabilities.isTerminal {
      invocation.errors.line(
        "The simulator is at \(simulator.url); Ctrl-C ends it. For a worker:")
      for setting in simulator.settings { invocation.errors.line("  --set \(setting)") }
    }
    await signals.wait()
    invocation.errors.line("simulator: \(await simulator.stop())")
    log.flush()
    return .ok
  }

  private static func tell(
    _ results: [ConformanceResult], _ invocation: Invocation
  ) -> ExitCode {
    let asksWorker = results.contains { $0.worker != nil }
    var table = Table(
      [.init("Rule"), .init("Request"), .init("Answer")] + (asksWorker ? [.init("Worker")] : [])
        + [.init("")])
    for result in results {
      let request = result.request
      let worker = result.worker.map { $0.does?.rawValue ?? "no answer" }
      table.add(
        [
          result.rule, "\(request.method) \(TextLayout.truncated(request.path, to: 48))",
          result.answer,
        ] + (asksWorker ? [worker ?? ""] : [])
          + [result.correction.map { "must be \($0)" } ?? "ok"])
    }
    table.write(to: invocation.output)
    let wrong = results.count { !$0.isRight }
    invocation.output.line("\(results.count) rules asked for, \(wrong) answered wrongly")
    return wrong == 0 ? .ok : .failed
  }
}
