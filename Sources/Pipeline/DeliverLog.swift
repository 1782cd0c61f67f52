import Deliver
import Model
import Telemetry
import Threads

/// Logs the notices of Deliver for an operator. Rejections of what we send, and answers that nobody
/// documents, are logged once for a server, a reason and a window: they come with each push, and
/// endpoints come from clients, who may name paths that are no subscription. Shared by the lanes of
/// a worker.
package final class DeliverLog: Sendable {
  /// Nanoseconds: ten minutes.
  package static let window: UInt64 = 600_000_000_000
  /// Subjects that are told apart at a time, at some 200 bytes each; the rest of a platform is one.
  static let mostSubjects = 256

  private enum Subject: Hashable {
    case rejection(PushServer, RejectionReason)
    case answer(PushServer, UnknownAnswer)
    /// Those that are too many to be told apart: a line names the one that came first.
    case others(Destination)

    init?(_ notice: DeliverNotice) {
      switch notice {
      case .configurationRejected(let server, let reason): self = .rejection(server, reason)
      case .unknownAnswer(let server, let answer): self = .answer(server, answer)
      default: return nil
      }
    }

    var others: Subject {
      switch self {
      case .rejection(let server, _), .answer(let server, _): .others(server.destination)
      case .others: self
      }
    }
  }

  private struct Logged {
    /// Nanoseconds.
    var since: UInt64
    /// The same that was not logged since then.
    var unlogged = 0
  }

  private struct Table {
    var logged: [Subject: Logged] = [:]
    /// Nanoseconds. No window ends before.
    var nextEnd: UInt64 = 0

    /// Removes those whose window has ended; what was not logged of them is not said any more.
    mutating func forget(at now: UInt64) {
      guard now >= nextEnd else { return }
      logged = logged.filter { now &- $0.value.since < DeliverLog.window }
      nextEnd = (logged.values.map(\.since).min() ?? now) &+ DeliverLog.window
    }
  }

  private let log: Log
  private let monotonic: @Sendable () -> UInt64
  private let table = ThreadLock(Table())

  /// - Parameter monotonic: nanoseconds of a clock that nobody sets.
  package init(_ log: Log, monotonic: @escaping @Sendable () -> UInt64) {
    self.log = log
    self.monotonic = monotonic
  }

  package func report(_ notice: DeliverNotice) {
    guard let subject = Subject(notice) else { return log.deliver(notice) }
    guard let unlogged = begin(subject, at: monotonic()) else { return }
    log.deliver(notice, unlogged: unlogged)
  }

  /// How often the same was not logged before; nil: it is not logged now either.
  private func begin(_ subject: Subject, at now: UInt64) -> Int? {
    table.withLock { table in
      var subject = subject
      if table.logged[subject] == nil, table.logged.count >= Self.mostSubjects {
        table.forget(at: now)
        if table.logged.count >= Self.mostSubjects { subject = subject.others }
      }
      guard let last = table.logged[subject], now &- last.since < Self.window else {
        return table.logged.updateValue(Logged(since: now), forKey: subject)?.unlogged ?? 0
      }
      table.logged[subject]?.unlogged += 1
      return nil
    }
  }
}
