extension SettingTable {
  static let redis: [SettingKey] = [
    .text(
      "redis.host", \.redis.host, default: "127.0.0.1", .host,
      "The server's host name or address."),
    .integer("redis.port", \.redis.port, default: 6_379, 1...65_535, "The server's port."),
    .list(
      "redis.cluster", \.redis.cluster, example: "[\"redis-1:6379\", \"redis-2:6379\"]",
      .hostAndPort,
      "Of a Redis Cluster, in the place of host and port: nodes to begin with; the others are "
        + "learned from them."),
    .list(
      "redis.sentinel.nodes", \.redis.sentinel.nodes,
      example: "[\"sentinel-1:26379\", \"sentinel-2:26379\"]", .hostAndPort,
      "Sentinels that know which server is the master, in the place of host and port."),
    .text(
      "redis.sentinel.master", \.redis.sentinel.master, default: "mymaster", .identifier,
      "The name under which sentinels watch the master."),
    .text(
      "redis.sentinel.username", \.redis.sentinel.username, example: "fanfare", .any,
      "The sentinels' ACL user, if they have one; without it, AUTH is sent with the password alone."
    ),
    .secret(
      "redis.sentinel.password", \.redis.sentinel.password,
      "The sentinels' own, if they have one. Better kept in a file: see password_file."),
    .secretFile(
      "redis.sentinel.password_file", \.redis.sentinel.passwordFile,
      of: "redis.sentinel.password", example: "/run/secrets/sentinel-password",
      "A file that holds the sentinels' password, up to 4 KiB; read again for each connection."),
    .choice(
      "redis.sentinel.tls.enabled", \.redis.sentinel.tls.enabled, default: .asRedis,
      "TLS to sentinels: as redis.tls.enabled says, or otherwise."),
    .path(
      "redis.sentinel.tls.ca_file", \.redis.sentinel.tls.caFile,
      example: "/etc/fanfare/sentinel-ca.pem",
      "PEM certificates to trust for sentinels; unless set, those of redis.tls."),
    .path(
      "redis.sentinel.tls.certificate_file", \.redis.sentinel.tls.certificateFile,
      example: "/run/secrets/sentinel-client.pem",
      "Our certificate for sentinels; unless set, that of redis.tls."),
    .path(
      "redis.sentinel.tls.key_file", \.redis.sentinel.tls.keyFile,
      example: "/run/secrets/sentinel-client.key",
      "Its private key, PEM, where certificate_file does not hold it."),
    .text(
      "redis.username", \.redis.username, example: "fanfare", .any,
      "The ACL user (Redis 6 and later); without it, AUTH is sent with the password alone."),
    .secret(
      "redis.password", \.redis.password, "Better kept in a file: see password_file."),
    .secretFile(
      "redis.password_file", \.redis.passwordFile, of: "redis.password",
      example: "/run/secrets/redis-password",
      "A file that holds the password, up to 4 KiB. It is read again for each connection, so that "
        + "it may hold a token that is replaced every few minutes."),
    .integer(
      "redis.database", \.redis.database, default: 0, 0...65_535,
      "The database's number; Redis Cluster has 0 only."),
    .bool(
      "redis.tls.enabled", \.redis.tls.enabled, default: false,
      "TLS, with certificate and host name checked."),
    .path(
      "redis.tls.ca_file", \.redis.tls.caFile, example: "/etc/fanfare/redis-ca.pem",
      "PEM certificates to trust instead of the system's."),
    .path(
      "redis.tls.certificate_file", \.redis.tls.certificateFile,
      example: "/run/secrets/redis-client.pem",
      "The certificate that we show Redis, which asks for one unless tls-auth-clients is no: PEM. "
        + "Connections that are made after it has been replaced use the new one."),
    .path(
      "redis.tls.key_file", \.redis.tls.keyFile, example: "/run/secrets/redis-client.key",
      "The certificate's private key, PEM, where certificate_file does not hold it."),
    .duration(
      "redis.connect_timeout", \.redis.connectTimeout, default: .seconds(5),
      .milliseconds(10)...(.seconds(60)),
      "For the TCP connection with its TLS handshake; the log-in has the same time once more, and "
        + "before them DNS has 15 s for the name."),
    .duration(
      "redis.command_timeout", \.redis.commandTimeout, default: .seconds(5),
      .milliseconds(10)...(.seconds(60)),
      "From sending a pipeline to its last reply, waiting for a connection included."),
    .duration(
      "redis.reconnect_minimum", \.redis.reconnectMinimum, default: .milliseconds(100),
      .milliseconds(1)...(.seconds(60)),
      "The first pause before connecting again; it doubles, with jitter."),
    .duration(
      "redis.reconnect_maximum", \.redis.reconnectMaximum, default: .seconds(5),
      .milliseconds(1)...(.seconds(300)), "The longest pause before connecting again."),
    .integer(
      "redis.wait_for_replicas", \.redis.waitForReplicas, default: 0, 0...8,
      "Replicas that must have what is recorded of a fan-out before anybody relies on it: then a "
        + "master that dies takes no counter along. As long as there are fewer, nothing is settled."
    ),
    .bool(
      "redis.read_from_replicas", \.redis.readFromReplicas, default: false,
      "Bindings and profiles are read from replicas, so that masters have less to do: what was "
        + "written within replica_lag_limit may not be seen. Whom no replica knows is asked of the "
        + "master, and so is everybody while no replica is fresh enough."),
    .duration(
      "redis.replica_lag_limit", \.redis.replicaLagLimit, default: .seconds(5),
      .seconds(2)...(.seconds(60)),
      "A replica that may be further behind its master is not read from. They tell their masters "
        + "once a second how far they are."),
    .text(
      "redis.prefix.data", \.redis.prefix.data, default: "ffd:", .keyPrefix,
      "Begins the keys of followers, bindings and profiles. Must not begin with "
        + "prefix.dashboards: a dashboard's ACL pattern could not leave out the device "
        + "tokens."),
    .text(
      "redis.prefix.dashboards", \.redis.prefix.dashboards, default: "ff:", .keyPrefix,
      "Begins the keys that dashboards read."),
  ]
}
