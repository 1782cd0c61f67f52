import Keyspace
import Redis

extension RecordStage {
  /// What a dashboard shows of a worker: fields of `ff:worker:<id>`, which vanish when it beats no
  /// more. Returns the instance whose fields these took the place of: nil for the first beat.
  @discardableResult
  package func heartbeat(
    worker: String, instance: String, _ fields: [(name: String, value: String)]
  ) async throws(RecordError) -> String? {
    let key = keyspace.worker(id: worker)
    let pipeline = RedisPipeline()
    pipeline.append(["HGET", key, "instance"])
    pipeline.append(
      ["HSET", key, "instance", instance] + fields.flatMap { [$0.name, $0.value] })
    pipeline.append(["EXPIRE", key, String(Keyspace.workerLifetimeSeconds)])
    return try await execute(pipeline, to: ["HSET", key]).text
  }
}
