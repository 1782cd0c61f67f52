import Assembly
import Model
import Record
import Settings
import Terminal
import VerbSupport

/// What operators ask of fan-outs: which there are, how one fares, and that it stops or goes on.
package enum FanOutControl {
  package enum Order: Sendable {
    case pause, resume, cancel

    fileprivate var brake: Brake? {
      switch self {
      case .pause: .paused
      case .resume: nil
      case .cancel: .cancelled
      }
    }
  }

  /// The fan-outs that began last, the latest first.
  package static func recent(
    atMost limit: Int, _ settings: Settings
  ) async throws(CommandFailure) -> [KnownFanOut] {
    try await lend(settings) { (record) async throws(RecordError) in
      try await record.recentFanOuts(atMost: limit)
    }
  }

  package static func fanOut(
    _ event: String, _ settings: Settings
  ) async throws(CommandFailure) -> KnownFanOut {
    let status = try await lend(settings) { (record) async throws(RecordError) in
      try await record.status(of: event)
    }
    guard let status else { throw unknown(event) }
    return KnownFanOut(event: event, status: status)
  }

  /// - Parameter now: ms since 1970.
  /// - Returns: false when it was so before.
  package static func give(
    _ order: Order, to event: String, reason: String, now: Int64, _ settings: Settings
  ) async throws(CommandFailure) -> Bool {
    let result = try await lend(settings) { (record) async throws(RecordError) in
      try await record.setBrake(order.brake, of: event, reason: reason, now: now)
    }
    switch result {
    case .done: return true
    case .already: return false
    case .cancelledBefore:
      throw CommandFailure(.failed, "\(event) is cancelled: it cannot go on, nor be paused")
    case .ended(let state):
      throw CommandFailure(.failed, "\(event) is \(state): there is nothing left to stop")
    case .unknown: throw unknown(event)
    }
  }

  private static func unknown(_ event: String) -> CommandFailure {
    CommandFailure(
      .failed, "no worker knows of \(event): it was not read yet, or ended over 7 days ago")
  }

  private static func lend<T: Sendable>(
    _ settings: Settings,
    _ body: @Sendable (RecordStage) async throws(RecordError) -> T
  ) async throws(CommandFailure) -> T {
    let keyspace = Assembly.keyspace(settings)
    return try await CommandRedis.lend(settings) { (_, redis) async throws(CommandFailure) -> T in
      do throws(RecordError) {
        return try await body(RecordStage(redis: redis, keyspace: keyspace))
      } catch {
        throw CommandFailure(error)
      }
    }
  }
}

extension CommandFailure {
  fileprivate init(_ error: RecordError) {
    let code: ExitCode =
      switch error.code {
      case .redis(let code): Self.code(of: code)
      case .badContent, .clocksDisagree: .failed
      }
    self.init(code, error.description)
  }
}
