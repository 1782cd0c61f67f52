extension SettingTable {
  static let fcm: [SettingKey] = [
    .path(
      "fcm.service_account_file", \.fcm.serviceAccountFile,
      example: "/run/secrets/firebase-service-account.json",
      "The key of a service account that may send (role Firebase Cloud Messaging API Admin), as "
        + "Google gives it. Without it or token_file nothing is sent to Android."),
    .path(
      "fcm.token_file", \.fcm.tokenFile, example: "/run/secrets/fcm-access-token",
      "A file that holds an access token, instead of a service account. Something else must "
        + "replace it 10 min before the token expires: it is read again every 5 min."),
    .text(
      "fcm.project", \.fcm.project, example: "example-live", .any,
      "The id of the Firebase project. It is not needed with a service account of that project."),
    .text(
      "fcm.host", \.fcm.host, default: "fcm.googleapis.com", .host, "Where messages are sent."),
    .integer("fcm.port", \.fcm.port, default: 443, 1...65_535, "Google listens on 443."),
    .path(
      "fcm.ca_file", \.fcm.caFile, example: "/etc/fanfare/simulator/ca.pem",
      "PEM certificates to trust instead of the system's, for a simulator."),
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
