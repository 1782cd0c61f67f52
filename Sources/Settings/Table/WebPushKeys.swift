import Text

extension SettingTable {
  static let webpush: [SettingKey] = webpushServices + webpushProxy + webpushConnections

  private static let webpushProxy = proxy(
    "webpush.proxy", host: \.webpush.proxy.host, port: \.webpush.proxy.port,
    username: \.webpush.proxy.username, password: \.webpush.proxy.password,
    "An HTTP proxy that leads to push services (CONNECT). It is asked for the host's name; with "
      + "`*` in hosts the worker looks the name up itself, and asks for an address that is public.")

  private static let webpushServices: [SettingKey] = [
    .path(
      "webpush.vapid_key_file", \.webpush.vapidKeyFile, example: "/run/secrets/vapid.pem",
      "The private key of the VAPID key pair: PEM, or 32 bytes as base64url. Browsers subscribe "
        + "with its public key, which `fanfare check` prints. Without it nothing is sent to "
        + "browsers."),
    .text(
      "webpush.vapid_key_id", \.webpush.vapidKeyID, default: "main", .keyID,
      "What bindings call that pair. Give a new pair a new id, and keep the former one below."),
    .records(
      "webpush.former_vapid_keys", \.webpush.formerVAPIDKeys, fields: ["file": .path],
      VAPIDKeyFields.files,
      "Private keys of former pairs, by id: {old: {file: /run/secrets/vapid-old.pem}}. Browsers "
        + "that subscribed with one of them take pushes of that pair alone."),
    .text(
      "webpush.subject", \.webpush.subject, example: "mailto:push@example.com", .vapidSubject,
      "Whom a push service may turn to: mailto: and an address, or an https: page. Apple refuses "
        + "pushes without a real one."),
    .list(
      "webpush.hosts", \.webpush.hosts, default: ["browsers"], .hostSuffix,
      "The push services that endpoints may name, since endpoints come from clients: hosts, and "
        + "all below them. `browsers` stands for those of Chrome, Edge, Firefox and Safari; `*` "
        + "allows any host with a public address, for browsers and distributors with services of "
        + "their own."),
    .list(
      "webpush.ports", \.webpush.ports, example: "[8443]", .port,
      "Ports of endpoints that are allowed besides 443."),
    .text(
      "webpush.connect_to", \.webpush.connectTo, example: "127.0.0.1:8443", .hostAndPort,
      "Connects there whatever host an endpoint names, for a simulator. Addresses are not checked "
        + "then."),
    .path(
      "webpush.ca_file", \.webpush.caFile, example: "/etc/fanfare/simulator/ca.pem",
      "PEM certificates to trust instead of the system's, for a simulator."),
  ]

  private static let webpushConnections: [SettingKey] = [
    .integer(
      "webpush.connections_per_lane", \.webpush.connectionsPerLane, default: 1, 1...64,
      "How many connections a lane keeps to each push service that it has pushes for."),
    .integer(
      "webpush.connections_per_lane_maximum", \.webpush.connectionsPerLaneMaximum, default: 4,
      1...64,
      "The largest number of connections of a lane to a push service, unless "
        + "connections_per_lane is higher."),
    .integer(
      "webpush.streams_per_connection", \.webpush.streamsPerConnection, default: 100, 1...1_000,
      "The largest number of messages in flight on a connection. A lower limit of the server is "
        + "obeyed."),
    .bool(
      "webpush.key_pair_per_message", \.webpush.keyPairPerMessage, default: false,
      "Encrypts each message with a key pair of its own, as RFC 8291 has it. Off, a pair is used "
        + "for an hour, which costs an eighth of the processor time; docs/webpush.md says what "
        + "that gives away."),
  ]
}

/// The keys of `webpush.former_vapid_keys.<id>`.
enum VAPIDKeyFields {
  /// By id.
  static func files(_ entries: [String: String]) -> [String: String] {
    let end = ".file"
    let named = entries.filter { $0.key.hasSuffix(end) }
    return Dictionary(
      named.map { (String($0.key.dropLast(end.count)), $0.value) },
      uniquingKeysWith: { first, _ in first })
  }
}

extension TextRule {
  static let keyID = TextRule("letters, digits, `.`, `_` and `-`", maximumBytes: 64) {
    $0.utf8.allSatisfy { $0.isASCIIWord || [0x2D, 0x2E, 0x5F].contains($0) }
  }

  static let vapidSubject = TextRule("mailto: and an address, or an https: URL", maximumBytes: 256)
  {
    $0.hasPrefix("mailto:") || $0.hasPrefix("https://")
  }

  static let hostSuffix = TextRule("a host in lower case, `browsers` or `*`", maximumBytes: 253) {
    $0 == "*"
      || $0.utf8.allSatisfy { $0.isASCIILower || $0.isASCIIDigit || $0 == 0x2D || $0 == 0x2E }
  }

  static let port = TextRule("a port", maximumBytes: 5) {
    Int($0).map { (1...65_535).contains($0) } ?? false
  }
}
