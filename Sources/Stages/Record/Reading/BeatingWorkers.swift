import Keyspace

/// What a worker's last heartbeat said.
package struct WorkerBeat: Sendable, Equatable {
  package let id: String
  /// The fields of `ff:worker:<id>`, by our names; empty when it has expired meanwhile.
  package let fields: [String: String]

  package init(id: String, fields: [String: String]) {
    self.id = id
    self.fields = fields
  }
}

extension RecordStage {
  /// The workers that have beaten within `Keyspace.workerLifetimeSeconds`, the latest first, and
  /// how many there are in all.
  package func beatingWorkers(
    atMost limit: Int
  ) async throws(RecordError) -> (workers: [WorkerBeat], all: Int) {
    let reply = try await execute(["ZRANGE", keyspace.workers, "0", "1023", "REV"])
    let ids = (0..<min(limit, reply.count)).compactMap { reply[$0].text }
      .filter { Keyspace.isIdentifier($0) }
    guard !ids.isEmpty else { return ([], reply.count) }
    let replies = try await checkedReplies(to: ids.map { ["HGETALL", keyspace.worker(id: $0)] })
    return (
      ids.indices.map { WorkerBeat(id: ids[$0], fields: replies[$0].dictionary ?? [:]) },
      reply.count
    )
  }
}
