extension SettingTable {
  static let fcm: [SettingKey] = fcmAccount + fcmProxy + fcmConnections

  private static let fcmProxy = proxy(
    "fcm.proxy", host: \.fcm.proxy.host, port: \.fcm.proxy.port, username: \.fcm.proxy.username,
    password: \.fcm.proxy.password,
    "An HTTP proxy that leads to Google (CONNECT): to FCM, and to the token server of service "
      + "accounts. The metadata server is never asked through it.")

  private static let fcmAccount: [SettingKey] = [
    .path(
      "fcm.service_account_file", \.fcm.serviceAccountFile,
      example: "/run/secrets/firebase-service-account.json",
      "The key of a service account that may send (role Firebase Cloud Messaging API Admin), as "
        + "Google gives it. One of this, token_file, token_command and metadata says who we are; "
        + "without any nothing is sent to Android."),
    .path(
      "fcm.token_file", \.fcm.tokenFile, example: "/run/secrets/fcm-access-token",
      "A file that holds an access token, instead of a service account. Something else must "
        + "replace it 10 min before the token expires: it is read again every 5 min."),
    .list(
      "fcm.token_command", \.fcm.tokenCommand,
      example: "[gcloud, auth, print-access-token]", .commandWord,
      "A program and its arguments, instead of a service account. It prints an access token, or "
        + "JSON with access_token and expires_in or expiry. No shell runs it. It may take 30 s and "
        + "print 64 KiB, and runs again 5 min before the token ends, or every 5 min without an "
        + "end."),
    .bool(
      "fcm.metadata", \.fcm.metadata, default: false,
      "Ask the metadata server of Google Cloud (Compute Engine, GKE, Cloud Run) for access tokens, "
        + "instead of a service account's key."),
    .text(
      "fcm.metadata_host", \.fcm.metadataHost, default: "metadata.google.internal:80", .hostAndPort,
      "The metadata server. Google's libraries call it GCE_METADATA_HOST."),
    .text(
      "fcm.project", \.fcm.project, example: "example-live", .any,
      "The id of the Firebase project. It is not needed with a service account of that project, "
        + "nor with metadata of a machine in it."),
    .integer(
      "fcm.messages_per_minute", \.fcm.messagesPerMinute, default: 0, 0...60_000_000,
      "The limit of messages a minute to a project, of all workers together. 0 means no limit: FCM "
        + "then answers 429 beyond its quota (600,000 by default). With 540000 it hardly does."),
    .records(
      "fcm.apps", \.fcm.apps, fields: FCMAccountFields.kinds, FCMAccountFields.records,
      "Apps of other Firebase projects, by name: {com.example.app: {service_account_file: a.json}}"
        + ", or with token_file, token_command or metadata, and with project and "
        + "messages_per_minute. All other apps use the project above, if there is one."),
    .text(
      "fcm.host", \.fcm.host, default: "fcm.googleapis.com", .host, "Where messages are sent."),
    .integer("fcm.port", \.fcm.port, default: 443, 1...65_535, "Google listens on 443."),
    .path(
      "fcm.ca_file", \.fcm.caFile, example: "/etc/fanfare/simulator/ca.pem",
      "PEM certificates to trust instead of the system's, for a simulator."),
  ]

  private static let fcmConnections: [SettingKey] = [
    .integer(
      "fcm.connections_per_lane", \.fcm.connectionsPerLane, default: 2, 1...64,
      "How many connections a lane keeps to FCM."),
    .integer(
      "fcm.connections_per_lane_maximum", \.fcm.connectionsPerLaneMaximum, default: 8, 1...64,
      "The largest number of connections of a lane to FCM, unless connections_per_lane is higher. "
        + "FCM allows 100 messages in flight on a connection, so 10,000 a second take some 20."),
    .integer(
      "fcm.streams_per_connection", \.fcm.streamsPerConnection, default: 100, 1...1_000,
      "The largest number of messages in flight on a connection. A lower limit of the server is "
        + "obeyed."),
  ]
}

/// The keys of `fcm.apps.<app>`, which are those of `fcm` that are about a project.
enum FCMAccountFields {
  private typealias Account = Settings.FCM.Account

  static let kinds: [String: SettingKind] = [
    "service_account_file": .path, "token_file": .path, "token_command": .list(.commandWord),
    "metadata": .bool, "project": .text(.any), "messages_per_minute": .integer(0...60_000_000),
  ]

  /// - Parameter entries: values by `<app>.<field>`.
  static func records(_ entries: [String: String]) -> [String: Settings.FCM.Account] {
    var accounts: [String: Account] = [:]
    for (path, value) in entries {
      guard let dot = path.lastIndex(of: ".") else { continue }
      var account = accounts[String(path[..<dot])] ?? Account()
      switch path[path.index(after: dot)...] {
      case "service_account_file": account.serviceAccountFile = value
      case "token_file": account.tokenFile = value
      case "token_command": account.tokenCommand = SettingKind.items(of: value)
      case "metadata": account.metadata = value == "true"
      case "project": account.project = value
      case "messages_per_minute": account.messagesPerMinute = Int(value)
      default: continue
      }
      accounts[String(path[..<dot])] = account
    }
    return accounts
  }
}
