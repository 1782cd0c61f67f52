import API
import EventLoop
import HTTPServer
import Pipeline
import Settings
import Telemetry

/// Looks at the API's keys, certificate and templates again and again, on a thread of its own: a
/// file system that does not answer keeps nobody else.
package final class APIFileWatch: Sendable {
  /// A removed key is refused after at most this time.
  package static let usualInterval: Duration = .seconds(5)

  private let interval: Duration
  private let loop = EventLoop(name: "api files")
  private let watch: Watch
  /// Nil where there are no templates to look at.
  private let templates: TemplateWatch?

  /// - Parameter templates: those that the API's options were made with.
  package init(
    _ settings: Settings, _ options: APIOptions, _ server: APIServer, _ log: Log,
    templates: TemplateFiles? = nil, every interval: Duration = usualInterval
  ) {
    self.interval = interval
    watch = Watch(settings, options, server, log, loop)
    // The templates in use are asked of `files`.
    self.templates = templates.map { [loop] files in
      TemplateWatch(
        loop: loop, every: settings.templates.reloadInterval, log: log,
        check: { files.look(isSettled: $0) }, use: { _ in })
    }
  }

  package func start() {
    Task { await watch.start(every: interval) }
    if let templates { loop.execute { templates.start() } }
  }

  /// Looks at all files at once, and returns when it has.
  package func lookNow() async {
    if let templates { loop.execute { templates.lookNow() } }
    await watch.look()
    await loop.answers()
  }

  package func stop() { loop.stop() }
}

private actor Watch {
  private let settings: Settings
  private let server: APIServer
  private let log: Log
  private let loop: EventLoop
  private var keys: APIKeyRing
  private var identity: HTTPServerIdentity?
  /// The last complaint about each file, so that it is logged once.
  private var complaints: [String: String] = [:]

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(
    _ settings: Settings, _ options: APIOptions, _ server: APIServer, _ log: Log,
    _ loop: EventLoop
  ) {
    self.settings = settings
    self.server = server
    self.log = log
    self.loop = loop
    keys = options.keys
    identity = options.http.identity
  }

  func start(every interval: Duration) {
    loop.schedule(after: interval) { [weak self] in
      self?.assumeIsolated { watch in
        _ = Task {
          await watch.look()
          watch.start(every: interval)
        }
      }
    }
  }

  func look() async {
    do throws(SettingsError) {
      let found = try Assembly.apiKeys(settings)
      complaints["keys"] = nil
      if found != keys {
        keys = found
        await server.use(found)
        log.notice("other keys are good from now on", ["keys": .integer(found.keys.count)])
      }
    } catch {
      complain(
        "keys", "the keys have changed and cannot be used; the previous ones stay in use", error)
    }
    do throws(SettingsError) {
      guard let found = try Assembly.apiIdentity(settings) else { return }
      guard found != identity else {
        complaints["certificate"] = nil
        return
      }
      do {
        try await server.show(found)
        identity = found
        complaints["certificate"] = nil
        log.notice("another certificate is shown from now on")
      } catch {
        // Some threads may show it: until all do, they are told again.
        identity = nil
        throw Assembly.problem("api.tls.certificate_file", "\(error)")
      }
    } catch {
      complain(
        "certificate", "the certificate has changed and cannot be used; the one before is shown",
        error)
    }
  }

  private func complain(_ what: String, _ message: String, _ error: SettingsError) {
    let reason = "\(error)"
    guard complaints[what] != reason else { return }
    complaints[what] = reason
    log.error(message, ["reason": .text(reason)])
  }
}
