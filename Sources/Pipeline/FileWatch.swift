import EventLoop
import Model
import Render
import Telemetry

/// Checks the files of the credentials and of the templates again and again, on a thread of its
/// own: a file system that does not answer delays nobody else. Reading them finds every kind of
/// change: a new file under the old name, a symbolic link set to another directory, a mount.
final class FileWatch: Sendable {
  /// Somebody who puts a key in place finds it used within 15 seconds.
  private static let credentialsInterval: Duration = .seconds(5)

  private let loop: EventLoop
  private let checkCredentials: @Sendable () -> [PlatformCredentialChange]
  private let templates: TemplateWatch
  private let log: Log
  private let counters: WorkerCounters

  /// - Parameter use: gives templates to all that begins from now on.
  init(
    options: PipelineOptions, counters: WorkerCounters,
    use: @escaping @Sendable ([Template]) -> Void
  ) {
    loop = options.makeLoop("files")
    checkCredentials = options.lookAtCredentials
    templates = TemplateWatch(
      loop: loop, every: options.templateInterval, log: options.log, check: options.lookAtTemplates,
      use: use)
    log = options.log
    self.counters = counters
  }

  func start() {
    loop.execute {
      self.repeatCredentials()
      self.templates.start()
    }
  }

  /// Takes the files as they are, as whole, and says in the log if nothing has changed.
  func lookNow() {
    loop.execute {
      self.lookAtCredentials()
      self.templates.lookNow()
    }
  }

  /// Returns when each `lookNow` that was called before has looked.
  func awaitLook() async { await loop.answers() }

  func stop() { loop.stop() }

  private func repeatCredentials() {
    lookAtCredentials()
    loop.schedule(after: Self.credentialsInterval) { [weak self] in self?.repeatCredentials() }
  }

  private func lookAtCredentials() {
    for change in checkCredentials() { obey(change) }
  }

  private func obey(_ change: PlatformCredentialChange) {
    switch change.change {
    case .replaced: counters.add(.credentialsReplaced)
    case .refused: counters.add(.credentialsRefused)
    case .expires, .expired: break
    }
    change.report(to: log)
  }
}

/// Checks the files of the templates again and again. Confined to its loop.
package final class TemplateWatch: Sendable {
  private let loop: EventLoop
  private let interval: Duration
  private let log: Log
  private let check: @Sendable (_ isSettled: Bool) -> TemplateChange?
  private let use: @Sendable ([Template]) -> Void

  /// - Parameters:
  ///   - interval: zero: only `lookNow` looks.
  ///   - use: called with the templates after a change that can be used.
  package init(
    loop: EventLoop, every interval: Duration, log: Log,
    check: @escaping @Sendable (_ isSettled: Bool) -> TemplateChange?,
    use: @escaping @Sendable ([Template]) -> Void
  ) {
    self.loop = loop
    self.interval = interval
    self.log = log
    self.check = check
    self.use = use
  }

  /// Looks at once, and again after each interval.
  package func start() {
    guard interval > .zero else { return }
    look()
    loop.schedule(after: interval) { [weak self] in self?.start() }
  }

  /// Takes the files as they are, as whole, and says in the log if nothing has changed.
  package func lookNow() {
    if let change = check(true) {
      obey(change)
    } else {
      log.notice("the templates have not changed")
    }
  }

  private func look() {
    if let change = check(false) { obey(change) }
  }

  private func obey(_ change: TemplateChange) {
    change.report(to: log)
    switch change {
    case .unsettled:
      loop.schedule(after: TemplateChange.settlingTime) { [weak self] in self?.look() }
    case .replaced(let set): use(set.templates)
    case .refused: break
    }
  }
}

/// A change in the files of the templates.
package enum TemplateChange: Sendable {
  /// They are used from now on.
  case replaced(TemplateSet)
  /// They have mistakes, and what was used before is used on. Each mistake, as
  /// `file:line:column: words`.
  case refused([String])
  /// They differ from what is used, and may still be being written: look again after
  /// `settlingTime`.
  case unsettled

  /// A change counts as whole when two looks that are so far apart find the same.
  package static let settlingTime: Duration = .seconds(1)

  package struct TemplateSet: Sendable {
    package var templates: [Template]
    /// Names of those that are new or have another text now.
    package var changed: [String]
    /// Names of those without a file. They are in `templates` until the process ends.
    package var removed: [String]

    package init(templates: [Template], changed: [String], removed: [String]) {
      self.templates = templates
      self.changed = changed
      self.removed = removed
    }
  }

  package func report(to log: Log) {
    switch self {
    case .unsettled: break
    case .replaced(let set):
      for warning in set.templates.filter({ set.changed.contains($0.name) }).flatMap(\.warnings) {
        log.warning("a template looks mistaken", ["place": .text(warning.description)])
      }
      guard !set.changed.isEmpty || !set.removed.isEmpty else {
        log.notice("the templates on disk are those in use again")
        return
      }
      var fields: LogFields = ["changed": .text(set.changed.joined(separator: ", "))]
      if !set.removed.isEmpty { fields["removed"] = .text(set.removed.joined(separator: ", ")) }
      log.notice("the templates on disk are used from now on", fields)
    case .refused(let mistakes):
      for mistake in mistakes.prefix(Self.reportedMistakes) {
        log.error(
          "the templates have changed and cannot be used; the previous ones stay in use",
          ["reason": .text(mistake)])
      }
    }
  }

  /// `fanfare check` lists all of them.
  private static let reportedMistakes = 10
}

/// A change in the files of a platform's credentials.
package struct PlatformCredentialChange: Sendable, Equatable {
  package let platform: Platform
  package let change: CredentialChange

  package init(_ platform: Platform, _ change: CredentialChange) {
    self.platform = platform
    self.change = change
  }

  package func report(to log: Log) {
    let title = platform.title
    switch change {
    case .replaced(let what):
      log.notice(
        "other credentials for \(title) are used from now on", ["credentials": .text(what)])
    case .refused(let reason):
      log.error(
        "the credentials for \(title) have changed and cannot be used; the previous ones stay in "
          + "use", ["reason": .text(reason)])
    case .expires(let what):
      log.warning(
        "the credentials for \(title) expire soon; put others in their place",
        ["credentials": .text(what)])
    case .expired(let what):
      log.error(
        "the credentials for \(title) have expired; put others in their place",
        ["credentials": .text(what)])
    }
  }
}

/// Credentials in use, and since when.
package struct CredentialAge: Sendable, Equatable {
  /// The platform, and whose they are where there are others.
  package let name: String
  /// Ms since 1970: the start of the worker, or when they took the place of others.
  package let since: Int64

  package init(name: String, since: Int64) {
    self.name = name
    self.since = since
  }
}

/// The changes in the files of credentials.
package enum CredentialChange: Sendable, Equatable {
  /// It is used from now on. Described in words.
  case replaced(String)
  /// The files cannot be used, and what was used before is used on. Why, in words.
  case refused(String)
  /// They will end within a month; said once a day.
  case expires(String)
  /// They have ended; said once a day.
  case expired(String)

  /// The same, with whose they are, where there are others.
  package func of(_ name: String?) -> CredentialChange {
    guard let name else { return self }
    return switch self {
    case .replaced(let what): .replaced("\(name): \(what)")
    case .refused(let why): .refused("\(name): \(why)")
    case .expires(let what): .expires("\(name): \(what)")
    case .expired(let what): .expired("\(name): \(what)")
    }
  }
}
