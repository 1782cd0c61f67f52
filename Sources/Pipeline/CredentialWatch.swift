import EventLoop
import Telemetry

/// Checks the files of the credentials for APNs every few seconds, on a thread of its own: a file
/// system that does not answer keeps nobody else. Reading them finds every kind of change: a new
/// file under the old name, a symbolic link set to another directory, a mount.
final class CredentialWatch: Sendable {
  /// Somebody who puts a key in place finds it used within 15 seconds.
  private static let interval: Duration = .seconds(5)

  private let loop: EventLoop
  private let check: @Sendable () -> [CredentialChange]
  private let log: Log
  private let counters: WorkerCounters

  init(options: PipelineOptions, counters: WorkerCounters) {
    loop = options.makeLoop("credentials")
    check = options.lookAtCredentials
    log = options.log
    self.counters = counters
  }

  func start() { loop.execute { self.again() } }

  func stop() { loop.stop() }

  private func again() {
    for change in check() { report(change) }
    loop.schedule(after: Self.interval) { [weak self] in self?.again() }
  }

  private func report(_ change: CredentialChange) {
    switch change {
    case .replaced(let what):
      counters.add(.credentialsReplaced)
      log.notice("other credentials for APNs are used from now on", ["credentials": .text(what)])
    case .refused(let reason):
      counters.add(.credentialsRefused)
      log.error(
        "the credentials for APNs have changed and cannot be used; the previous ones stay in use",
        ["reason": .text(reason)])
    case .expires(let what):
      log.warning(
        "the credentials for APNs expire soon; put others in their place",
        ["credentials": .text(what)])
    case .expired(let what):
      log.error(
        "the credentials for APNs have expired; put others in their place",
        ["credentials": .text(what)])
    }
  }
}

/// A change in the files of the credentials for APNs.
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
