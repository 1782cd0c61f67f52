import API
import Assembly
import Telemetry
import Terminal
import VerbSupport

/// Serves the dashboard alone, to look and not to act.
package enum DashboardVerb {
  private static let address = Option<String>(
    "address", .text, default: "127.0.0.1", value: "ADDRESS",
    help: "The address to listen on; another one than loopback needs api.keys_file")
  private static let port = Option<Int>(
    "port", .integer(in: 0...65_535), default: 8_090, value: "PORT",
    help: "The port to listen on; 0 means any free port, which the log names")

  package static let verb = Verb(
    "dashboard", summary: "Show fan-outs and workers in a browser, with Redis alone",
    discussion: """
      Runs until SIGTERM, SIGINT or SIGHUP, and reads Redis once a second while somebody looks. \
      It needs no Kafka, and writes nothing: to pause fan-outs and to send dead letters in again, \
      open the dashboard of `fanfare api`, which is the same page. docs/operations.md explains it.

      On this machine alone it asks for no key. With api.keys_file it asks for one, and then \
      listens on any address: with a certificate (api.tls), or behind a proxy that has one \
      (api.plain).
      """,
    options: [address, port] + ConfigurationOptions.all + [ProcessOptions.dieWithParent],
    examples: [
      .init("fanfare dashboard", "Open http://127.0.0.1:8090 then"),
      .init(
        "fanfare dashboard --set redis.host=redis.internal --port 9000",
        "Show what another Redis holds"),
    ], exitCodes: [.ok, .failed, .usage, .config], handler: run)

  private static func run(_ invocation: Invocation) async -> ExitCode {
    invocation.obeyParent()
    let signals = StopSignals.catchAll()
    return await invocation.runLogged { (settings, log) async throws(CommandFailure) in
      let options: APIOptions
      do {
        options = try Assembly.dashboardOptions(
          settings, address: invocation[address], port: invocation[port], log: log)
      } catch {
        throw CommandFailure(ofSettings: error)
      }
      return try await APIServing(invocation: invocation, signals: signals, name: "dashboard").run(
        options,
        probes: { (server) async throws(CommandFailure) in
          try await ProbeService.start(
            settings, log, health: { await server.health() }, ticks: { await server.tick() },
            metrics: { await server.metrics() })
        },
        // Without keys there is nothing to look for.
        files: { options, server, _ in
          settings.api.keysFile == nil ? nil : APIFileWatch(settings, options, server, log)
        },
        tell: { _, port in
          let scheme = options.http.identity == nil ? "http" : "https"
          log.info(
            "the dashboard is served",
            [
              "url": .text("\(scheme)://\(invocation[address]):\(port)/"),
              "needs_key": .bool(!options.keys.keys.isEmpty),
            ])
        })
    }
  }
}
