extension SettingTable {
  static let probes: [SettingKey] = [
    .text(
      "probes.host", \.probes.host, default: "127.0.0.1", .host,
      "The address to listen on. Use 0.0.0.0 in a pod, because probes come from outside."),
    .integer(
      "probes.port", \.probes.port, default: 0, 0...65_535,
      "The port of /livez, /readyz?verbose, /startupz, and /metrics for Prometheus. 0 switches "
        + "them off."),
  ]
}
