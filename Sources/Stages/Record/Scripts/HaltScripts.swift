import Keyspace
import Model
import Redis

/// The script by which somebody stops a fan-out, or lets it go on. It writes the field `brake` of
/// the event's hash: a worker that claims a segment is told in the same script, and one that works
/// on a segment looks every second.
enum HaltScripts {
  static let set = RedisScript([SharedLua.permissions, PackageResources.halt_lua])
}

extension RecordStage {
  /// Pauses or cancels a fan-out that is not done, or lets a paused one go on. Safe to repeat.
  ///
  /// - Parameters:
  ///   - halt: nil lets it go on.
  ///   - reason: for people who look at the event's hash.
  ///   - by: who wants it: the name of an API key, or of a user of the system; empty: a worker, or
  ///     it is not known.
  ///   - isAhead: the event may be about to be opened: it is stopped when it is.
  package func setHalt(
    _ halt: Halt?, of event: String, reason: String, by: String = "", isAhead: Bool = false,
    now: Int64
  ) async throws(RecordError) -> HaltResult {
    let reply = try await evaluate(
      HaltScripts.set, keys: [keyspace.event(id: event)],
      arguments: [
        "wanted": halt?.rawValue ?? "", "now": String(now), "reason": reason, "by": by,
        "lifetime_seconds": String(Keyspace.eventLifetimeSeconds),
        "ahead": isAhead ? "ahead" : "",
      ], isLasting: true)
    switch reply[0].text {
    case "done", "already":
      // A cancelled event need not wait for its time to end. Who cancelled it first may have died
      // before this.
      if reply[1].text == FanOutStatus.State.scheduled.rawValue, halt == .cancelled {
        try await hasten(event, to: now)
      }
      return reply[0].text == "done" ? .done : .already
    case "cancelled": return .cancelledBefore
    case "ended": return .ended(reply[1].text ?? "")
    case "unknown": return .unknown
    default: throw .unexpected(reply.kind, from: "the script that stops a fan-out")
    }
  }

  /// The pause or cancellation of each fan-out; nil where there is none. Those of which Redis did
  /// not say are left out.
  package func halts(of events: [String]) async throws(RecordError) -> [String: Halt?] {
    let replies = try await ask(ofEach: events) { ["HGET", $0, "brake"] }
    var halts: [String: Halt?] = [:]
    for (index, event) in events.enumerated() where replies[index].error == nil {
      halts[event] = .some(Halt(rawValue: replies[index].text ?? ""))
    }
    return halts
  }
}

/// The result of `RecordStage.setHalt`.
package enum HaltResult: Sendable, Equatable {
  case done
  /// It was so before.
  case already
  /// Nothing undoes that: pushes have their outcomes.
  case cancelledBefore
  /// There is nothing left to stop.
  case ended(String)
  /// No such event, or older than its lifetime.
  case unknown
}
