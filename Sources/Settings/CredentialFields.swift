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
