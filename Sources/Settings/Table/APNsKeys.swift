extension SettingTable {
  static let apns: [SettingKey] = apnsServers + apnsProxy + apnsCredentials

  private static let apnsProxy = proxy(
    "apns.proxy", host: \.apns.proxy.host, port: \.apns.proxy.port,
    username: \.apns.proxy.username, password: \.apns.proxy.password,
    "An HTTP proxy that leads to Apple (CONNECT). TLS goes through it to Apple's own servers.")

  private static let apnsServers: [SettingKey] = [
    .text(
      "apns.production.host", \.apns.production.host, default: "api.push.apple.com", .host,
      "The host for tokens of apps from the App Store and TestFlight."),
    .integer(
      "apns.production.port", \.apns.production.port, default: 443, 1...65_535,
      "Apple listens on 443 and on 2197."),
    .choice(
      "apns.production.interface", \.apns.production.interface, default: .http2,
      "Use http2. binary is the legacy interface that Apple retired in 2021; use it only for a "
        + "private gateway that still speaks it (docs/legacy.md)."),
    .text(
      "apns.production.broadcast_host", \.apns.production.broadcast.host,
      default: "api.push.apple.com", .host,
      "The host for broadcasts to channels (fanfare channel send). Apple's samples use "
        + "api-broadcast.push.apple.com; its text names this host."),
    .integer(
      "apns.production.broadcast_port", \.apns.production.broadcast.port, default: 443, 1...65_535,
      "Apple listens on 443 and on 2197."),
    .text(
      "apns.production.channels_host", \.apns.production.channels.host,
      default: "api-manage-broadcast.push.apple.com", .host,
      "The host that creates, lists and deletes channels (fanfare channel)."),
    .integer(
      "apns.production.channels_port", \.apns.production.channels.port, default: 2_196, 1...65_535,
      "Apple's port for production."),
    .text(
      "apns.sandbox.host", \.apns.sandbox.host, default: "api.sandbox.push.apple.com", .host,
      "The host for tokens of apps that run from Xcode."),
    .integer(
      "apns.sandbox.port", \.apns.sandbox.port, default: 443, 1...65_535,
      "Apple listens on 443 and on 2197."),
    .text(
      "apns.sandbox.broadcast_host", \.apns.sandbox.broadcast.host,
      default: "api.sandbox.push.apple.com", .host,
      "The host for broadcasts in the sandbox. Apple's samples use "
        + "api-broadcast.sandbox.push.apple.com."),
    .integer(
      "apns.sandbox.broadcast_port", \.apns.sandbox.broadcast.port, default: 443, 1...65_535,
      "Apple listens on 443 and on 2197."),
    .text(
      "apns.sandbox.channels_host", \.apns.sandbox.channels.host,
      default: "api-manage-broadcast.sandbox.push.apple.com", .host,
      "The host that creates, lists and deletes the sandbox's channels."),
    .integer(
      "apns.sandbox.channels_port", \.apns.sandbox.channels.port, default: 2_195, 1...65_535,
      "Apple's port for the sandbox."),
    .choice(
      "apns.sandbox.interface", \.apns.sandbox.interface, default: .http2,
      "The same as apns.production.interface, for the sandbox."),
    .duration(
      "apns.binary_accepted_after", \.apns.binaryAcceptedAfter, default: .seconds(2),
      .milliseconds(100)...(.seconds(60)),
      "Legacy: a push counts as accepted if the gateway of the binary interface has not reported "
        + "an error for this long."),
    .path(
      "apns.ca_file", \.apns.caFile, example: "/etc/fanfare/simulator/ca.pem",
      "PEM certificates to trust instead of the system's, for a simulator."),
  ]

  private static let apnsCredentials: [SettingKey] = [
    .path(
      "apns.key_file", \.apns.keyFile, example: "/run/secrets/AuthKey_ABC123DEFG.p8",
      "The .p8 key from the Apple developer account, or a directory with one. It is needed for "
        + "sending, with team_id. If you replace it, workers use the new key within 15 s."),
    .text(
      "apns.key_id", \.apns.keyID, example: "ABC123DEFG", .appleIdentifier,
      "The key's id. It is not needed if the file has Apple's name for it, AuthKey_<key id>.p8."),
    .text(
      "apns.team_id", \.apns.teamID, example: "DEF123GHIJ", .appleIdentifier,
      "The id of the team that the key belongs to."),
    .path(
      "apns.certificate_file", \.apns.certificateFile, example: "/run/secrets/apns.p12",
      "Apple's certificate with its private key, PKCS#12 or PEM, instead of a key. If you replace "
        + "it, workers use the new certificate within 15 s."),
    .path(
      "apns.certificate_key_file", \.apns.certificateKeyFile, example: "/run/secrets/tls.key",
      "The certificate's private key (PEM), if certificate_file does not hold it."),
    .path(
      "apns.certificate_passphrase_file", \.apns.certificatePassphraseFile,
      example: "/run/secrets/apns-passphrase",
      "The passphrase of certificate_file, if it has one."),
    .records(
      "apns.apps", \.apns.apps, fields: CredentialFields.kinds, CredentialFields.records,
      "Apps with their own credentials, by bundle id: {com.example.app: {key_file: a.p8, team_id: "
        + "DEF123GHIJ}}, or with a certificate_file. All other apps use the credentials above, if "
        + "there are any."),
    .duration(
      "apns.token_lifetime", \.apns.tokenLifetime, default: minutes(50), minutes(40)...minutes(59),
      "How long a provider token is used. Apple refuses tokens that are older than an hour, and "
        + "more than one new token in 20 min. Workers with the same key and the same lifetime use "
        + "the same tokens."),
    .integer(
      "apns.connections_per_lane", \.apns.connectionsPerLane, default: 2, 1...64,
      "How many connections a lane keeps to each of the two servers."),
    .integer(
      "apns.connections_per_lane_maximum", \.apns.connectionsPerLaneMaximum, default: 4, 1...64,
      "The largest number of connections of a lane to a server, unless connections_per_lane is "
        + "higher. A lane opens another connection when all of them were full for 2 s while pushes "
        + "waited. It closes one that was not needed for 5 min."),
    .integer(
      "apns.streams_per_connection", \.apns.streamsPerConnection, default: 500, 1...10_000,
      "The largest number of pushes in flight on a connection. A lower limit of the server is "
        + "obeyed. A higher value costs memory and hardly adds speed."),
    .integer(
      "apns.ready_pushes_per_lane", \.apns.readyPushesPerLane, default: 1_024, 16...65_536,
      "How many rendered pushes of an environment may wait for a free stream, at up to 5 KiB each. "
        + "Events in progress share this number, and events with one shard share the same number "
        + "again. An event that has used its share reads no further page."),
    .duration(
      "apns.request_timeout", \.apns.requestTimeout, default: .seconds(30),
      .seconds(1)...minutes(5),
      "A push that is not answered within this time is sent again on another connection, a few "
        + "times at most."),
    .duration(
      "apns.connect_timeout", \.apns.connectTimeout, default: .seconds(10),
      .milliseconds(100)...(.seconds(60)),
      "The time limit for the TCP connection and the TLS handshake together."),
    .duration(
      "apns.ping_interval", \.apns.pingInterval, default: minutes(60),
      minutes(1)...minutes(24 * 60),
      "After this time an idle connection is tested with a PING. Apple advises about an hour."),
    .duration(
      "apns.retry.initial", \.apns.retry.initial, default: .milliseconds(200),
      .milliseconds(10)...minutes(15),
      "The first pause before a push is sent again after 429 or 5xx, or before a lost connection "
        + "is replaced. It doubles each time, with jitter, until the event expires."),
    .duration(
      "apns.retry.maximum", \.apns.retry.maximum, default: .seconds(30),
      .milliseconds(10)...minutes(15),
      "The longest pause. Apple advises 15 min after a 5xx, but most news is old by then."),
  ]
}

/// The keys of `apns.apps.<bundle id>`, which are those of `apns` that are about credentials.
enum CredentialFields {
  typealias Field = WritableKeyPath<Settings.APNs.Credentials, String?> & Sendable

  private static let all: [(name: String, kind: SettingKind, field: any Field)] = [
    ("key_file", .path, \.keyFile), ("key_id", .text(.appleIdentifier), \.keyID),
    ("team_id", .text(.appleIdentifier), \.teamID),
    ("certificate_file", .path, \.certificateFile),
    ("certificate_key_file", .path, \.certificateKeyFile),
    ("certificate_passphrase_file", .path, \.certificatePassphraseFile),
  ]

  static let kinds = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.kind) })

  /// - Parameter entries: values by `<bundle id>.<field>`.
  static func records(_ entries: [String: String]) -> [String: Settings.APNs.Credentials] {
    var records: [String: Settings.APNs.Credentials] = [:]
    for (path, value) in entries {
      guard let dot = path.lastIndex(of: ".") else { continue }
      let name = path[path.index(after: dot)...]
      guard let field = all.first(where: { $0.name == name })?.field else { continue }
      records[String(path[..<dot]), default: .init()][keyPath: field] = value
    }
    return records
  }
}
