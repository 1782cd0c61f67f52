extension SettingTable {
  static let worker: [SettingKey] = [
    .text(
      "worker.id", \.worker.id, example: "worker-1", .identifier,
      "Names this worker in Redis and logs; the host's name and the process id unless "
        + "set. Unique among the workers."),
    .duration(
      "worker.heartbeat_interval", \.worker.heartbeatInterval, default: .seconds(10),
      .seconds(1)...(.seconds(20)),
      "How often the worker says in Redis that it lives. It is forgotten after 60 s, so "
        + "three beats must fit."),
  ]
}
