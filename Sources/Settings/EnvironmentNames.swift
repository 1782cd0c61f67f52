/// Variables that begin like ours and are not settings.
enum EnvironmentNames {
  /// What commands and tests read: the configuration's path, a Kafka installation to test against.
  private static let other: Set<String> = ["FANFARE_CONFIG", "FANFARE_KAFKA_HOME"]

  /// Kubernetes sets `FANFARE_REDIS_PORT=tcp://10.0.0.1:6379` and its like in every container when
  /// a Service is named `fanfare-redis`.
  static func isForeign(_ name: String, value: String) -> Bool {
    if other.contains(name) { return true }
    if name.hasSuffix("_SERVICE_HOST") || name.contains("_SERVICE_PORT") { return true }
    let isLink = ["tcp://", "udp://", "sctp://"].contains { value.hasPrefix($0) }
    if name.hasSuffix("_PORT") && isLink { return true }
    // …_PORT_6379_TCP, and the same with _ADDR, _PORT, _PROTO behind it.
    let words = name.split(separator: "_")
    return words.indices.dropFirst(2).contains { index in
      words[index - 2] == "PORT" && words[index - 1].allSatisfy(\.isNumber)
        && ["TCP", "UDP", "SCTP"].contains(words[index])
    }
  }
}
