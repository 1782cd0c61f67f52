import Keyspace
import Model
import Redis

/// The script that gives out what workers together may send in a second, in slices.
enum LimitScripts {
  static let lease = RedisScript([SharedLua.permissions, PackageResources.lease_lua])
}

extension RecordStage {
  /// Takes some of the pushes a second that a limit leaves to all workers.
  /// - Parameter pushes: as many as would be used.
  /// - Returns: how many may be sent; none were taken where it throws an error, unless only the
  ///   answer was lost.
  package func lease(_ pushes: Int, of limit: PushLimit) async throws(RecordError) -> Int {
    let key =
      switch limit.subject {
      case .app(let name): keyspace.limit(app: name)
      case .event(let id): keyspace.limit(event: id)
      case .project(let id): keyspace.limit(project: id)
      }
    let reply = try await evaluate(
      LimitScripts.lease, keys: [key],
      arguments: [
        "rate": String(limit.rate), "pushes": String(pushes),
        "lifetime_seconds": String(Keyspace.limitLifetimeSeconds),
      ])
    guard let granted = reply.integer else {
      throw .unexpected(reply.kind, from: "the script that leases pushes of a limit")
    }
    return Int(granted)
  }
}
