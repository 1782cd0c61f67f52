import Keyspace
import Model
import Record
import Redis
import Terminal
import VerbSupport

/// Lists, reports, pauses, resumes and cancels fan-outs for operators.
package struct FanOutControl {
  package enum Order: Sendable {
    case pause, resume, cancel

    fileprivate var halt: Halt? {
      switch self {
      case .pause: .paused
      case .resume: nil
      case .cancel: .cancelled
      }
    }
  }

  private let record: RecordStage

  package init(redis: RedisClient, keyspace: Keyspace) {
    record = RecordStage(redis: redis, keyspace: keyspace)
  }

  /// The fan-outs that are scheduled, and those that began last, the latest first.
  package func recent(atMost limit: Int) async throws(CommandFailure) -> [KnownFanOut] {
    do throws(RecordError) {
      return try await record.latestFanOuts(atMost: limit)
    } catch {
      throw CommandFailure(error)
    }
  }

  package func fanOut(_ event: String) async throws(CommandFailure) -> KnownFanOut {
    guard let known = try await known(event) else { throw Self.unknown(event) }
    return known
  }

  /// Nil for an event that Redis does not know.
  package func known(_ event: String) async throws(CommandFailure) -> KnownFanOut? {
    do throws(RecordError) {
      return try await record.status(of: event).map { KnownFanOut(event: event, status: $0) }
    } catch {
      throw CommandFailure(error)
    }
  }

  /// - Parameters:
  ///   - name: who gives it, as the system or an API key calls them; empty: not known.
  ///   - now: ms since 1970.
  /// - Returns: false when it was so before.
  package func give(
    _ order: Order, to event: String, reason: String, by name: String = "", now: Int64
  ) async throws(CommandFailure) -> Bool {
    let result: HaltResult
    do throws(RecordError) {
      result = try await record.setHalt(order.halt, of: event, reason: reason, by: name, now: now)
    } catch {
      throw CommandFailure(error)
    }
    switch result {
    case .done: return true
    case .already: return false
    case .cancelledBefore:
      throw CommandFailure(.failed, "\(event) is cancelled: it cannot go on, nor be paused")
    case .ended(let state):
      throw CommandFailure(.failed, "\(event) is \(state): there is nothing left to stop")
    case .unknown: throw Self.unknown(event)
    }
  }

  /// Changes when a scheduled event is sent.
  /// - Parameter ahead: how far ahead that may be.
  package func reschedule(
    _ event: String, to sendAt: SendTime, ahead: Duration
  ) async throws(CommandFailure) {
    let result: RescheduleResult
    do throws(RecordError) {
      result = try await record.reschedule(event, to: sendAt, ahead: ahead)
    } catch {
      throw CommandFailure(error)
    }
    switch result {
    case .done: return
    case .begun(let state):
      throw CommandFailure(.failed, "\(event) is \(state): its time can no longer be changed")
    case .cancelledBefore:
      throw CommandFailure(.failed, "\(event) is cancelled: it is not sent at any time")
    case .tooLate(let latest):
      throw CommandFailure(
        .failed,
        "\(event) can be sent at \(SendTime.at(latest).text) at the latest "
          + "(events.maximum_send_ahead, and 30 days in all)")
    case .tooEarly(let expiredAt):
      throw CommandFailure(
        .failed,
        "\(event) would have expired at \(SendTime.at(expiredAt).text), and reach nobody: "
          + "give a later time, or cancel it")
    case .unknown: throw Self.unknown(event)
    }
  }

  private static let shownCells = 64

  private static func unknown(_ event: String) -> CommandFailure {
    guard !event.isEmpty else {
      return CommandFailure(
        .usage, "an event's id is never empty: `fanfare fanout list` shows them")
    }
    let name = TextLayout.truncated(TextLayout.printable(event), to: shownCells)
    return CommandFailure(
      .unknown, "Redis knows nothing of \(name): it was not read yet, or it began over 7 days ago")
  }
}

extension CommandFailure {
  fileprivate init(_ error: RecordError) {
    let code: ExitCode =
      switch error.code {
      case .redis(let code): Self.code(of: code)
      case .badContent, .tooLarge, .clocksDisagree: .failed
      }
    self.init(code, error.description)
  }
}
