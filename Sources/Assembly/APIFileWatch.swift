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
  private let templateInterval: Duration
  private let loop = EventLoop(name: "api files")
  private let watch: Watch

  /// - Parameter templates: those that the API's options were made with.
  package init(
    _ settings: Settings, _ options: APIOptions, _ server: APIServer, _ log: Log,
    templates: TemplateFiles? = nil, every interval: Duration = usualInterval
  ) {
    self.interval = interval
    templateInterval = settings.templates.reloadInterval
    watch = Watch(settings, options, server, log, loop, templates)
  }

  package func start() {
    Task {
      await watch.start(every: interval)
      await watch.startTemplates(every: templateInterval)
    }
  }

  /// Looks at all files at once. Returns before it has.
  package func lookNow() { Task { await watch.lookNow() } }

  package func stop() { loop.stop() }
}

private actor Watch {
  private let settings: Settings
  private let server: APIServer
  private let log: Log
  private let loop: EventLoop
  private let templates: TemplateFiles?
  private var keys: APIKeyRing
  private var identity: HTTPServerIdentity?
  /// The last complaint about each file, so that it is logged once.
  private var complaints: [String: String] = [:]

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(
    _ settings: Settings, _ options: APIOptions, _ server: APIServer, _ log: Log,
    _ loop: EventLoop, _ templates: TemplateFiles?
  ) {
    self.settings = settings
    self.server = server
    self.log = log
    self.loop = loop
    self.templates = templates
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

  // MARK: templates

  /// The first look has read the templates as whole.
  func startTemplates(every interval: Duration) {
    guard interval > .zero, templates != nil else { return }
    loop.schedule(after: interval) { [weak self] in
      self?.assumeIsolated { watch in
        watch.lookAtTemplates(isSettled: false)
        watch.startTemplates(every: interval)
      }
    }
  }

  func lookNow() async {
    await look()
    guard templates != nil, !lookAtTemplates(isSettled: true) else { return }
    log.notice("the templates have not changed")
  }

  /// Returns whether there was a change.
  @discardableResult
  private func lookAtTemplates(isSettled: Bool) -> Bool {
    guard let change = templates?.look(isSettled: isSettled) else { return false }
    change.report(to: log)
    if case .unsettled = change {
      loop.schedule(after: TemplateChange.settlingTime) { [weak self] in
        self?.assumeIsolated { _ = $0.lookAtTemplates(isSettled: false) }
      }
    }
    return true
  }

  // MARK: keys and certificate

  private func look() async {
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
