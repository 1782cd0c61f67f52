import Keyspace

/// The content of a worker's last heartbeat.
package struct WorkerBeat: Sendable, Equatable {
  package let id: String
  /// The fields of `ff:worker:<id>`, by our names.
  package let fields: [String: String]

  package init(id: String, fields: [String: String]) {
    self.id = id
    self.fields = fields
  }
}

extension RecordStage {
  /// The workers on the list `ff:workers` whose heartbeats have not expired, who beat last first,
  /// and how many are on the list.
  package func beatingWorkers(
    atMost limit: Int
  ) async throws(RecordError) -> (workers: [WorkerBeat], all: Int) {
    let reply = try await execute(["HGETALL", keyspace.workers])
    let beats = (0..<reply.count / 2).compactMap { index in
      reply[2 * index].text.map { (id: $0, at: reply[2 * index + 1].decimal ?? 0) }
    }
    let ids = beats.filter { Keyspace.isIdentifier($0.id) }
      .sorted { ($1.at, $0.id) < ($0.at, $1.id) }.prefix(limit).map(\.id)
    guard !ids.isEmpty else { return ([], beats.count) }
    let replies = try await checkedReplies(to: ids.map { ["HGETALL", keyspace.worker(id: $0)] })
    return (
      ids.indices.map { WorkerBeat(id: ids[$0], fields: replies[$0].dictionary ?? [:]) }
        .filter { !$0.fields.isEmpty },
      beats.count
    )
  }
}
