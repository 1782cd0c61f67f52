extension SettingTable {
  /// The keys of a proxy; each platform has one of its own.
  /// - Parameters:
  ///   - group: `fcm.proxy`.
  ///   - explanation: of the host: where it leads.
  static func proxy(
    _ group: String, host: any Target<String?>, port: any Target<Int>,
    username: any Target<String?>, password: any Target<Secret?>, _ explanation: String
  ) -> [SettingKey] {
    [
      .text("\(group).host", host, example: "proxy.internal", .host, explanation),
      .integer("\(group).port", port, default: 3_128, 1...65_535, "The proxy's port."),
      .text(
        "\(group).username", username, example: "fanfare", .any,
        "The user name for a proxy that needs a login (Basic). Name and password are sent to it in "
          + "the clear."),
      .secret(
        "\(group).password", password,
        "The proxy's password. It is safer in a file: see password_file."),
      .secretFile(
        "\(group).password_file", of: "\(group).password", example: "/run/secrets/proxy-password",
        "A file that holds the proxy's password, up to 4 KiB."),
    ]
  }
}
