import Keyspace
import Model
import Redis

/// The scripts that know of a streamer's streams: which have ended, what went live last, and which
/// fan-outs are to be stopped when one ends (`streamer.lua`).
enum StreamerScripts {
  private static let streamer = [
    SharedLua.permissions, SharedLua.types, PackageResources.clock_lua,
    PackageResources.streamer_lua,
  ]

  static let end = RedisScript(streamer + [PackageResources.end_stream_lua])
  static let register = RedisScript(streamer + [PackageResources.register_lua])
  static let takeBack = RedisScript([PackageResources.take_back_lua])
}

extension RecordStage {
  /// Notes with its streamer that an event is going to be sent. Safe to repeat; comes before
  /// `open`, which is told the answer.
  ///
  /// - Parameter isRelease: the record releases a scheduled event.
  /// - Returns: why it is not to be sent: its stream has ended, or the streamer's followers were
  ///   told a short while ago; nil when it is.
  package func register(
    _ event: Event, isRelease: Bool = false
  ) async throws(RecordError) -> String? {
    let reply = try await evaluate(
      StreamerScripts.register, keys: [keyspace.streamer(id: event.streamer)],
      arguments: [
        "id": event.id, "stream": event.stream, "kind": Self.kind(of: event),
        "occurred_ms": String(event.occurredAt),
        "cooldown_ms": Self.milliseconds(options.cooldown),
        "lifetime_seconds": String(Keyspace.eventLifetimeSeconds),
        "release": isRelease ? "release" : "",
      ], isLasting: true)
    guard let refusal = reply.text else {
      throw .unexpected(reply.kind, from: "the script that registers an event")
    }
    return refusal.isEmpty ? nil : refusal
  }

  /// The event has told nobody, and keeps no later one back. Does nothing where a release has
  /// registered the event and this record is none.
  /// - Parameters:
  ///   - isOver: it does not come again, unless its record does.
  ///   - isRelease: as for `register`.
  package func takeBack(
    _ event: Event, isOver: Bool, isRelease: Bool = false
  ) async throws(RecordError) {
    _ = try await evaluate(
      StreamerScripts.takeBack, keys: [keyspace.streamer(id: event.streamer)],
      arguments: [
        "id": event.id, "kind": Self.kind(of: event), "again": isOver ? "" : "again",
        "release": isRelease ? "release" : "",
      ])
  }

  /// Events of one kind are not sent in quick succession. An event that names users means just
  /// those, and just now: such events hold back none, and are held back by none.
  private static func kind(of event: Event) -> String {
    switch event.audience {
    case .followers: "\(event.app):\(event.template)"
    case .matching(let expression): "\(event.app):\(event.template):\(expression.text)"
    case .users: ""
    }
  }

  /// Cancels what is not sent yet of the fan-outs that told of a stream, and any that is still to
  /// come. Safe to repeat.
  ///
  /// - Returns: the ids of those that this call has cancelled.
  package func endStream(_ end: StreamEnd, now: Int64) async throws(RecordError) -> [String] {
    let reply = try await evaluate(
      StreamerScripts.end, keys: [keyspace.streamer(id: end.streamer)],
      arguments: [
        "stream": end.stream, "ended_ms": String(end.occurredAt),
        "lifetime_seconds": String(Keyspace.eventLifetimeSeconds),
        "ahead_ms": Self.milliseconds(options.clockSkew),
      ], isLasting: true)
    guard reply.kind == .array else {
      throw .unexpected(reply.kind, from: "the script that ends a stream")
    }
    var cancelled: [String] = []
    for index in 0..<reply.count {
      guard let event = reply[index].text else { continue }
      // It may be registered and not opened yet.
      let result = try await setHalt(
        .cancelled, of: event, reason: "stream ended", isAhead: true, now: now)
      if result == .done { cancelled.append(event) }
    }
    return cancelled
  }
}
