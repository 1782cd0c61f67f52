extension SettingTable {
  static let probes: [SettingKey] = [
    .text(
      "probes.host", \.probes.host, default: "127.0.0.1", .host,
      "The address to listen on. Pods are asked from outside: 0.0.0.0 there."),
    .integer(
      "probes.port", \.probes.port, default: 0, 0...65_535,
      "/livez, /readyz?verbose, /startupz, and /metrics for Prometheus. 0 means none of them."),
  ]
}
