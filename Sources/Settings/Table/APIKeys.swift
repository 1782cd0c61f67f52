extension SettingTable {
  static let api: [SettingKey] = [
    .text(
      "api.host", \.api.host, default: "127.0.0.1", .host,
      "The address to listen on. Others than the loopback one need a certificate, or api.plain."),
    .integer(
      "api.port", \.api.port, default: 8_080, 0...65_535,
      "0: a free one, which is told in the log."),
    .bool(
      "api.plain", \.api.plain, default: false,
      "Plain HTTP on other addresses than the loopback one: a proxy in the same pod has TLS."),
    .path(
      "api.keys_file", \.api.keysFile, example: "/etc/fanfare/api-keys",
      "Who may ask: a line NAME SCOPE sha256:HEX each, as `fanfare api-key` makes it. Looked at "
        + "again every 5 s."),
    .path(
      "api.tls.certificate_file", \.api.tls.certificateFile, example: "/etc/fanfare/api.crt",
      "The server's certificate and those above it, in PEM. Looked at again every 5 s."),
    .path(
      "api.tls.key_file", \.api.tls.keyFile, example: "/etc/fanfare/api.key",
      "The certificate's key, in PEM without a passphrase."),
    .integer(
      "api.threads", \.api.threads, default: 0, 0...64,
      "How many threads answer requests; 0: one for each core, four at most. Each has its own "
        + "connections to Redis and its share of api.maximum_connections."),
    .integer(
      "api.maximum_connections", \.api.maximumConnections, default: 256, 1...10_000,
      "Divided among api.threads. When another client comes to a thread that is full, the one "
        + "goes there that has been quiet for longest."),
    .duration(
      "api.exchange_timeout", \.api.exchangeTimeout, default: .seconds(10),
      .milliseconds(500)...(.seconds(60)),
      "For a whole request and its answer: who sends a byte each second keeps no place."),
    .duration(
      "api.idle_timeout", \.api.idleTimeout, default: .seconds(90),
      .seconds(1)...(.seconds(3600)),
      "For a connection without a request. Longer than the load balancer in front keeps its own, "
        + "which else sends a request on a connection that ends, and answers 502."),
    .integer(
      "api.requests_per_second", \.api.requestsPerSecond, default: 50_000, 1...1_000_000,
      "Of one key, in each process. More are refused with 429."),
    .bool(
      "api.audit", \.api.audit, default: true,
      "A JSON line on standard output for each change: who, what, of whom."),
    .size(
      "api.imports.maximum_bytes", \.api.imports.maximumBytes, default: 1 << 30,
      (1 << 20)...(1 << 40),
      "Of one import's body, which is read while it comes and never kept."),
    .integer(
      "api.imports.at_once", \.api.imports.atOnce, default: 4, 1...64,
      "In each process; one key has all but one of them at most. More are refused with 429."),
    .duration(
      "api.imports.timeout", \.api.imports.timeout, default: .seconds(3600),
      .seconds(10)...(.seconds(86_400)),
      "For a whole import."),
    .size(
      "api.imports.minimum_rate", \.api.imports.minimumRate, default: 16 << 10, 1...(1 << 30),
      "A second, in each api.exchange_timeout. An import that comes more slowly ends with 408, "
        + "unless Redis holds it up."),
  ]
}
