import API
import Assembly
import Telemetry
import Terminal
import VerbSupport

/// Serves devices, users, follows and events over HTTP to backends.
package enum APIVerb {
  package static let verb = Verb(
    "api", summary: "Serve devices, users, follows and events over HTTP",
    discussion: """
      Runs until SIGTERM or SIGINT. On SIGHUP it reads keys, certificate and templates again, \
      which it also does by itself. GET /openapi.json lists all requests, and docs/api.md \
      explains them. Each client needs a key (api.keys_file). While Redis or Kafka is down, \
      requests that need it get 503. Any number of these processes can run side by side.

      Standard output gets one JSON line for each change (api.audit), and standard error gets the \
      log.
      """,
    options: ConfigurationOptions.all + [ProcessOptions.dieWithParent],
    examples: [
      .init("fanfare api --config /etc/fanfare/fanfare.yaml", "Use this configuration"),
      .init(
        "fanfare api --set api.keys_file=keys --set api.port=8080",
        "Serve this machine only, on port 8080"),
    ], exitCodes: [.ok, .failed, .usage, .config], handler: run)

  private static func run(_ invocation: Invocation) async -> ExitCode {
    invocation.obeyParent()
    let signals = StopSignals.catchAll()
    // The start reads all files.
    signals.whenHungUp {}
    return await invocation.runLogged { (settings, log) async throws(CommandFailure) in
      let templates = Assembly.templateFiles(settings, log: log)
      let audit = Assembly.auditLog(settings)
      defer { audit?.flush() }
      let options: APIOptions
      do {
        options = try Assembly.apiOptions(
          settings, log: log, audit: audit, templates: templates)
      } catch {
        throw CommandFailure(ofSettings: error)
      }
      return try await APIServing(invocation: invocation, signals: signals, name: "api").run(
        options,
        probes: { (server) async throws(CommandFailure) in
          try await ProbeService.start(
            settings, log, health: { await server.health() }, ticks: { await server.tick() },
            metrics: { await server.metrics() })
        },
        files: { options, server, probes in
          let files = APIFileWatch(settings, options, server, log, templates: templates)
          signals.whenHungUp { probes.reload { await files.lookNow() } }
          return files
        },
        tell: { server, port in
          log.info(
            "the API is served",
            [
              "host": .text(settings.api.host), "port": .integer(port),
              "tls": .bool(options.http.identity != nil),
              "keys": .integer(options.keys.keys.count), "threads": .integer(server.threadCount),
            ])
        })
    }
  }
}
