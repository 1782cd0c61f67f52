extension SettingTable {
  static let api: [SettingKey] = [
    .text(
      "api.host", \.api.host, default: "127.0.0.1", .host,
      "The address to listen on. Addresses other than loopback need a certificate, or api.plain."),
    .integer(
      "api.port", \.api.port, default: 8_080, 0...65_535,
      "The port to listen on. 0 means any free port; the log names it."),
    .bool(
      "api.plain", \.api.plain, default: false,
      "Allow plain HTTP on addresses other than loopback. Use it if a proxy in the same pod does "
        + "TLS."),
    .path(
      "api.keys_file", \.api.keysFile, example: "/etc/fanfare/api-keys",
      "The keys of clients: one line NAME SCOPE sha256:HEX for each, as `fanfare api-key` prints "
        + "it. The file is checked for changes every 5 s."),
    .path(
      "api.tls.certificate_file", \.api.tls.certificateFile, example: "/etc/fanfare/api.crt",
      "The server's certificate and its chain (PEM). The file is checked for changes every 5 s."),
    .path(
      "api.tls.key_file", \.api.tls.keyFile, example: "/etc/fanfare/api.key",
      "The certificate's private key (PEM), without a passphrase."),
    .integer(
      "api.threads", \.api.threads, default: 0, 0...64,
      "How many threads answer requests; 0 means one for each core, at most four. Each has its own "
        + "connections to Redis and its share of api.maximum_connections."),
    .integer(
      "api.maximum_connections", \.api.maximumConnections, default: 256, 1...10_000,
      "The largest number of connections, divided among api.threads. When a client connects to a "
        + "thread that is full, that thread closes the connection that has been quiet for "
        + "longest."),
    .duration(
      "api.exchange_timeout", \.api.exchangeTimeout, default: .seconds(10),
      .milliseconds(500)...(.seconds(60)),
      "The time limit for a whole request and its answer, so that a slow client does not keep a "
        + "connection busy."),
    .duration(
      "api.idle_timeout", \.api.idleTimeout, default: .seconds(90),
      .seconds(1)...(.seconds(3600)),
      "The time limit for an idle connection. Make it longer than that of a load balancer in "
        + "front. Otherwise the load balancer may use a connection that is being closed, and "
        + "answer 502."),
    .integer(
      "api.requests_per_second", \.api.requestsPerSecond, default: 50_000, 1...1_000_000,
      "The limit for each key, in each process. Further requests get 429."),
    .bool(
      "api.audit", \.api.audit, default: true,
      "Write a JSON line on standard output for each change: who changed what, and of which user."),
    .size(
      "api.imports.maximum_bytes", \.api.imports.maximumBytes, default: 1 << 30,
      (1 << 20)...(1 << 40),
      "The largest body of an import. The body is read as it arrives, and is never stored."),
    .integer(
      "api.imports.at_once", \.api.imports.atOnce, default: 4, 1...64,
      "How many imports each process runs at once. One key can use all but one of them. Further "
        + "imports get 429."),
    .duration(
      "api.imports.timeout", \.api.imports.timeout, default: .seconds(3600),
      .seconds(10)...(.seconds(86_400)),
      "The time limit for a whole import."),
    .size(
      "api.imports.minimum_rate", \.api.imports.minimumRate, default: 16 << 10, 1...(1 << 30),
      "The lowest rate of an import in each second, measured over each api.exchange_timeout. A "
        + "slower import ends with 408, unless Redis causes the delay."),
  ]
}
