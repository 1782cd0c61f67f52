extension SettingTable {
  static let redis: [SettingKey] = [
    .text(
      "redis.host", \.redis.host, default: "127.0.0.1", .host,
      "The server's host name or address."),
    .integer("redis.port", \.redis.port, default: 6_379, 1...65_535, "The server's port."),
    .list(
      "redis.cluster", \.redis.cluster, example: "[\"redis-1:6379\", \"redis-2:6379\"]",
      .hostAndPort,
      "The first nodes to contact of a Redis Cluster, instead of host and port. The client learns "
        + "the others from them."),
    .list(
      "redis.sentinel.nodes", \.redis.sentinel.nodes,
      example: "[\"sentinel-1:26379\", \"sentinel-2:26379\"]", .hostAndPort,
      "Sentinels that know which server is the master, instead of host and port."),
    .text(
      "redis.sentinel.master", \.redis.sentinel.master, default: "mymaster", .identifier,
      "The sentinels' name for the master."),
    .text(
      "redis.sentinel.username", \.redis.sentinel.username, example: "fanfare", .any,
      "The sentinels' ACL user, if they have one. Without it, AUTH sends only the password."
    ),
    .secret(
      "redis.sentinel.password", \.redis.sentinel.password,
      "The sentinels' password, if they have one. It is safer in a file: see password_file."),
    .secretFile(
      "redis.sentinel.password_file", \.redis.sentinel.passwordFile,
      of: "redis.sentinel.password", example: "/run/secrets/sentinel-password",
      "A file that holds the sentinels' password, up to 4 KiB. It is read again for each "
        + "connection."),
    .choice(
      "redis.sentinel.tls.enabled", \.redis.sentinel.tls.enabled, default: .asRedis,
      "Whether connections to sentinels use TLS; as_redis follows redis.tls.enabled."),
    .path(
      "redis.sentinel.tls.ca_file", \.redis.sentinel.tls.caFile,
      example: "/etc/fanfare/sentinel-ca.pem",
      "PEM certificates to trust for sentinels; by default those of redis.tls."),
    .path(
      "redis.sentinel.tls.certificate_file", \.redis.sentinel.tls.certificateFile,
      example: "/run/secrets/sentinel-client.pem",
      "The client certificate for sentinels; by default that of redis.tls."),
    .path(
      "redis.sentinel.tls.key_file", \.redis.sentinel.tls.keyFile,
      example: "/run/secrets/sentinel-client.key",
      "The certificate's private key (PEM), if certificate_file does not hold it."),
    .text(
      "redis.username", \.redis.username, example: "fanfare", .any,
      "The ACL user (Redis 6 and later). Without it, AUTH sends only the password."),
    .secret(
      "redis.password", \.redis.password,
      "The password. It is safer in a file: see password_file."),
    .secretFile(
      "redis.password_file", \.redis.passwordFile, of: "redis.password",
      example: "/run/secrets/redis-password",
      "A file that holds the password, up to 4 KiB. It is read again for each connection, so it "
        + "can hold a token that changes every few minutes."),
    .integer(
      "redis.database", \.redis.database, default: 0, 0...65_535,
      "The number of the database. A Redis Cluster has only 0."),
    .bool(
      "redis.tls.enabled", \.redis.tls.enabled, default: false,
      "Whether connections use TLS. Certificate and host name are checked."),
    .path(
      "redis.tls.ca_file", \.redis.tls.caFile, example: "/etc/fanfare/redis-ca.pem",
      "PEM certificates to trust instead of the system's."),
    .path(
      "redis.tls.certificate_file", \.redis.tls.certificateFile,
      example: "/run/secrets/redis-client.pem",
      "The client certificate (PEM). Redis asks for one unless its tls-auth-clients is no. After "
        + "you replace the file, new connections use the new certificate."),
    .path(
      "redis.tls.key_file", \.redis.tls.keyFile, example: "/run/secrets/redis-client.key",
      "The certificate's private key (PEM), if certificate_file does not hold it."),
    .duration(
      "redis.connect_timeout", \.redis.connectTimeout, default: .seconds(5),
      .milliseconds(10)...(.seconds(60)),
      "The time limit for the TCP connection with its TLS handshake. The login has the same time "
        + "again. Before that, DNS has 15 s for the name."),
    .duration(
      "redis.command_timeout", \.redis.commandTimeout, default: .seconds(5),
      .milliseconds(10)...(.seconds(60)),
      "The time limit for a pipeline, from sending it to its last reply. It includes waiting for a "
        + "connection."),
    .duration(
      "redis.reconnect_minimum", \.redis.reconnectMinimum, default: .milliseconds(100),
      .milliseconds(1)...(.seconds(60)),
      "The first pause before reconnecting. It doubles each time, with jitter."),
    .duration(
      "redis.reconnect_maximum", \.redis.reconnectMaximum, default: .seconds(5),
      .milliseconds(1)...(.seconds(300)), "The longest pause before reconnecting."),
    .integer(
      "redis.wait_for_replicas", \.redis.waitForReplicas, default: 0, 0...8,
      "The number of replicas that must have a fan-out's records before workers rely on them, so "
        + "that no counter is lost when a master dies. While there are fewer replicas, no segment "
        + "settles."
    ),
    .bool(
      "redis.read_from_replicas", \.redis.readFromReplicas, default: false,
      "Read bindings and profiles from replicas, to relieve the masters. Writes of the last "
        + "replica_lag_limit may not be seen. The master is asked for users that no replica knows, "
        + "and for all users while no replica is fresh enough."),
    .duration(
      "redis.replica_lag_limit", \.redis.replicaLagLimit, default: .seconds(5),
      .seconds(2)...(.seconds(60)),
      "Replicas that may be further behind their master than this are not read from. Replicas "
        + "report their position once a second."),
    .text(
      "redis.prefix.data", \.redis.prefix.data, default: "ffd:", .keyPrefix,
      "The prefix of the keys of followers, bindings and profiles. It must not begin with "
        + "prefix.dashboards, or a dashboard's ACL pattern would include the device tokens."),
    .text(
      "redis.prefix.dashboards", \.redis.prefix.dashboards, default: "ff:", .keyPrefix,
      "The prefix of the keys that dashboards read."),
  ]
}
