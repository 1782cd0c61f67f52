import API
import Assembly
import Terminal
import VerbSupport

/// Serves an API, whole or as the dashboard alone, until a signal ends it.
struct APIServing {
  let invocation: Invocation
  let signals: StopSignals
  /// For people.
  let name: String

  /// - Parameters:
  ///   - makeProbes: starts the probes of this process.
  ///   - makeFiles: watches the files that are read again while it serves; nil: there are none.
  ///   - tell: that it serves, and at which port.
  func run(
    _ options: APIOptions,
    probes makeProbes: (APIServer) async throws(CommandFailure) -> ProbeService,
    files makeFiles: (APIOptions, APIServer, ProbeService) -> APIFileWatch?,
    tell: (APIServer, _ port: Int) -> Void
  ) async throws(CommandFailure) -> ExitCode {
    var options = options
    options.version = invocation.program.version
    let server = APIServer(options)
    let probes = try await makeProbes(server)
    do {
      tell(server, try await server.start())
    } catch {
      throw CommandFailure(.failed, "\(name): \(error)")
    }
    let files = makeFiles(options, server, probes)
    files?.start()
    probes.announce(until: signals)
    await signals.wait()
    files?.stop()
    await server.stop()
    await probes.stop()
    return .ok
  }
}
