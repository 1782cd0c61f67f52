extension SettingTable {
  static let worker: [SettingKey] = [
    .text(
      "worker.id", \.worker.id, example: "worker-1", .identifier,
      "The name of this worker in Redis and in logs, which must be unique. By default the host's "
        + "name and the process id."),
    .duration(
      "worker.heartbeat_interval", \.worker.heartbeatInterval, default: .seconds(2),
      .seconds(1)...(.seconds(20)),
      "How often the worker writes its heartbeat to Redis, with 11 small commands, and asks Kafka "
        + "for its lag. After three heartbeats without one (5 s at least) the dashboard calls the "
        + "worker dead. Redis forgets it after 60 s."),
  ]
}
