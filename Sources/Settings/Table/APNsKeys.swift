extension SettingTable {
  static let apns: [SettingKey] = [
    .text(
      "apns.production.host", \.apns.production.host, default: "api.push.apple.com", .host,
      "For tokens of apps from the App Store and TestFlight."),
    .integer(
      "apns.production.port", \.apns.production.port, default: 443, 1...65_535, "443, or 2197."),
    .choice(
      "apns.production.interface", \.apns.production.interface, default: .http2,
      "http2. binary is the legacy interface that Apple retired in 2021: only for a private "
        + "gateway that still speaks it (docs/legacy.md)."),
    .text(
      "apns.production.broadcast_host", \.apns.production.broadcast.host,
      default: "api.push.apple.com", .host,
      "Broadcasts to channels (fanfare channel send). Apple's samples say "
        + "api-broadcast.push.apple.com, its text says this."),
    .integer(
      "apns.production.broadcast_port", \.apns.production.broadcast.port, default: 443, 1...65_535,
      "443, or 2197."),
    .text(
      "apns.production.channels_host", \.apns.production.channels.host,
      default: "api-manage-broadcast.push.apple.com", .host,
      "Where channels are made, listed and deleted (fanfare channel)."),
    .integer(
      "apns.production.channels_port", \.apns.production.channels.port, default: 2_196, 1...65_535,
      "Apple's for production."),
    .text(
      "apns.sandbox.host", \.apns.sandbox.host, default: "api.sandbox.push.apple.com", .host,
      "For tokens of apps run from Xcode."),
    .integer("apns.sandbox.port", \.apns.sandbox.port, default: 443, 1...65_535, "443, or 2197."),
    .text(
      "apns.sandbox.broadcast_host", \.apns.sandbox.broadcast.host,
      default: "api.sandbox.push.apple.com", .host,
      "The same for the sandbox; Apple's samples say api-broadcast.sandbox.push.apple.com."),
    .integer(
      "apns.sandbox.broadcast_port", \.apns.sandbox.broadcast.port, default: 443, 1...65_535,
      "443, or 2197."),
    .text(
      "apns.sandbox.channels_host", \.apns.sandbox.channels.host,
      default: "api-manage-broadcast.sandbox.push.apple.com", .host,
      "Where the sandbox's channels are made, listed and deleted."),
    .integer(
      "apns.sandbox.channels_port", \.apns.sandbox.channels.port, default: 2_195, 1...65_535,
      "Apple's for the sandbox."),
    .choice(
      "apns.sandbox.interface", \.apns.sandbox.interface, default: .http2,
      "As apns.production.interface."),
    .duration(
      "apns.binary_accepted_after", \.apns.binaryAcceptedAfter, default: .seconds(2),
      .milliseconds(100)...(.seconds(60)),
      "Legacy: what a gateway of the binary interface has had for so long without a word is taken "
        + "for accepted."),
    .path(
      "apns.ca_file", \.apns.caFile, example: "/etc/fanfare/simulator/ca.pem",
      "PEM certificates to trust instead of the system's, for a simulator."),
    .text(
      "apns.proxy.host", \.apns.proxy.host, example: "proxy.internal", .host,
      "An HTTP proxy that leads to Apple (CONNECT); TLS goes through it to Apple's own servers."),
    .integer(
      "apns.proxy.port", \.apns.proxy.port, default: 3_128, 1...65_535, "The proxy's port."),
    .text(
      "apns.proxy.username", \.apns.proxy.username, example: "fanfare", .any,
      "For a proxy that wants to know who we are (Basic). It hears both in the clear."),
    .secret(
      "apns.proxy.password", \.apns.proxy.password, "Better kept in a file: see password_file."),
    .secretFile(
      "apns.proxy.password_file", of: "apns.proxy.password", example: "/run/secrets/proxy-password",
      "A file that holds the proxy's password, up to 4 KiB."),
    .path(
      "apns.key_file", \.apns.keyFile, example: "/run/secrets/AuthKey_ABC123DEFG.p8",
      "The .p8 key from the Apple developer account, or a directory with one. Needed to send, with "
        + "team_id. A worker uses another that is put in its place within 15 s."),
    .text(
      "apns.key_id", \.apns.keyID, example: "ABC123DEFG", .appleIdentifier,
      "The key's id. Not needed while the file has the name that Apple gives, "
        + "AuthKey_<key id>.p8."),
    .text(
      "apns.team_id", \.apns.teamID, example: "DEF123GHIJ", .appleIdentifier,
      "The id of the team that the key belongs to."),
    .path(
      "apns.certificate_file", \.apns.certificateFile, example: "/run/secrets/apns.p12",
      "In the place of a key: a certificate of Apple's with its private key, PKCS#12 or PEM. A "
        + "worker uses another that is put in its place within 15 s."),
    .path(
      "apns.certificate_key_file", \.apns.certificateKeyFile, example: "/run/secrets/tls.key",
      "The certificate's private key, PEM, where certificate_file does not hold it."),
    .path(
      "apns.certificate_passphrase_file", \.apns.certificatePassphraseFile,
      example: "/run/secrets/apns-passphrase",
      "The passphrase of certificate_file, if it has one."),
    .records(
      "apns.apps", \.apns.apps, fields: CredentialFields.kinds, CredentialFields.records,
      "Apps with credentials of their own, by bundle id: {com.example.app: {key_file: a.p8, "
        + "team_id: DEF123GHIJ}}, or with a certificate_file. All others go with those above, if "
        + "there are any."),
    .duration(
      "apns.token_lifetime", \.apns.tokenLifetime, default: minutes(50), minutes(40)...minutes(59),
      "How old a provider token becomes. Apple refuses more than one in 20 min, and one older "
        + "than an hour. Workers with one key and one lifetime use the very same tokens."),
    .integer(
      "apns.connections_per_lane", \.apns.connectionsPerLane, default: 2, 1...64,
      "Connections of a lane to each of the two servers."),
    .integer(
      "apns.connections_per_lane_maximum", \.apns.connectionsPerLaneMaximum, default: 4, 1...64,
      "A lane opens another connection each time that all it has to a server were full for 2 s "
        + "while pushes waited, up to so many, or connections_per_lane if that is more; one that "
        + "was not needed for 5 min goes."),
    .integer(
      "apns.streams_per_connection", \.apns.streamsPerConnection, default: 500, 1...10_000,
      "Pushes in flight on a connection, at most; the server's own limit is obeyed below "
        + "it. More costs memory and hardly speed."),
    .integer(
      "apns.ready_pushes_per_lane", \.apns.readyPushesPerLane, default: 1_024, 16...65_536,
      "Rendered pushes of an environment that wait for a free stream, up to 5 KiB each. The "
        + "events under way share them, those of one shard as many of their own; one that has "
        + "its share reads no further page."),
    .duration(
      "apns.request_timeout", \.apns.requestTimeout, default: .seconds(30),
      .seconds(1)...minutes(5),
      "A push unanswered for so long is given up on this connection and tried again on "
        + "another, a few times."),
    .duration(
      "apns.connect_timeout", \.apns.connectTimeout, default: .seconds(10),
      .milliseconds(100)...(.seconds(60)),
      "For the TCP connection and the TLS handshake together."),
    .duration(
      "apns.ping_interval", \.apns.pingInterval, default: minutes(60),
      minutes(1)...minutes(24 * 60),
      "A connection idle for so long is asked whether it lives. Apple advises about an hour."),
    .duration(
      "apns.retry.initial", \.apns.retry.initial, default: .milliseconds(200),
      .milliseconds(10)...minutes(15),
      "The first pause before a push is tried again after 429 or 5xx, or a connection after "
        + "it was lost; it doubles, with jitter, until the event expires."),
    .duration(
      "apns.retry.maximum", \.apns.retry.maximum, default: .seconds(30),
      .milliseconds(10)...minutes(15),
      "The longest pause. Apple's advice for 5xx is 15 min, by when most news is old."),
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
