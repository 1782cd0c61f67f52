extension SettingTable {
  static let worker: [SettingKey] = [
    .text(
      "worker.id", \.worker.id, example: "worker-1", .identifier,
      "The name of this worker in Redis and in logs, which must be unique. By default the host's "
        + "name and the process id."),
    .duration(
      "worker.heartbeat_interval", \.worker.heartbeatInterval, default: .seconds(10),
      .seconds(1)...(.seconds(20)),
      "How often the worker writes its heartbeat to Redis. Redis forgets it after 60 s, so three "
        + "heartbeats must fit into that time."),
  ]
}
