/// The settings of an app's credentials that go together, and of those of all others: a key with
/// its team, or a certificate.
struct CredentialRules {
  private let credentials: Settings.APNs.Credentials
  /// Of the keys: `apns.`, or `apns.apps.<bundle id>.`.
  private let prefix: String
  private let isOfApp: Bool

  /// - Parameter app: nil: all that have none of their own.
  init(_ credentials: Settings.APNs.Credentials, of app: String? = nil) {
    self.credentials = credentials
    prefix = app.map { "apns.apps.\($0)." } ?? "apns."
    isOfApp = app != nil
  }

  func key(_ field: String) -> String { prefix + field }

  /// Of all apps together: a mapping is of one layer.
  func source(_ field: String, _ layers: SettingsLayers) -> SettingSource {
    layers.source(of: isOfApp ? "apns.apps" : key(field))
  }

  func check(_ layers: inout SettingsLayers, areNeeded: Bool) {
    let certificate = "certificate_file"
    if credentials.certificateFile == nil {
      let more = [
        ("certificate_key_file", credentials.certificateKeyFile),
        ("certificate_passphrase_file", credentials.certificatePassphraseFile),
      ]
      for (field, value) in more where value != nil {
        layers.add(
          .warning, source(field, layers), key: key(field),
          "is not used without \(key(certificate))")
      }
      return checkKey(&layers, isNeeded: areNeeded)
    }
    let others = [
      ("key_file", credentials.keyFile), ("key_id", credentials.keyID),
      ("team_id", credentials.teamID),
    ]
    for (field, value) in others where value != nil {
      let sources = [source(field, layers), source(certificate, layers)]
      layers.add(
        .problem, sources.max { $0.rank < $1.rank } ?? .builtIn, key: key(field),
        "does not go with \(key(certificate))",
        hint: "a key proves who we are in each push, a certificate when a connection is made")
    }
  }

  private func checkKey(_ layers: inout SettingsLayers, isNeeded: Bool) {
    // Without key_id the file's name says it, which whoever opens the file looks at.
    let fields: [(name: String, isSet: Bool)] = [
      ("key_file", credentials.keyFile != nil),
      ("key_id", credentials.keyID != nil || credentials.keyFile != nil),
      ("team_id", credentials.teamID != nil),
    ]
    guard let given = fields.first(where: \.isSet)?.name else {
      // A faulty setting has its own complaint.
      if isNeeded, !fields.contains(where: { layers.isFaulty(key($0.name)) }) {
        layers.add(
          .problem, .builtIn, key: key("key_file"),
          "is not set: sending needs \(key("key_file")) and \(key("team_id")), or "
            + key("certificate_file"),
          hint: "the key is made in the Apple developer account, under Keys")
      }
      return
    }
    for (field, isSet) in fields where !isSet && !layers.isFaulty(key(field)) {
      layers.add(
        .problem, source(given, layers), key: key(field), "is needed together with \(key(given))")
    }
  }

  // MARK: the files

  /// - Parameter severity: of what is wrong with a file.
  func checkFiles(_ layers: inout SettingsLayers, _ severity: SettingsFinding.Severity) {
    if let path = credentials.keyFile { checkKeyFile(path, &layers, severity) }
    let secrets = [
      ("certificate_file", credentials.certificateFile),
      ("certificate_key_file", credentials.certificateKeyFile),
      ("certificate_passphrase_file", credentials.certificatePassphraseFile),
    ]
    for (field, path) in secrets {
      if let path { checkSecret(path, field, &layers, severity) }
    }
  }

  private func checkKeyFile(
    _ path: String, _ layers: inout SettingsLayers, _ severity: SettingsFinding.Severity
  ) {
    let field = "key_file"
    let source = source(field, layers)
    do {
      let found = try ProviderKeyFile.read(path)
      layers.warnIfExposed(found.file, path: path, key: key(field), source: source)
      if let complaint = FileRules.complaint(aboutKey: found.file.text, path) {
        layers.add(severity, source, key: key(field), complaint.message, hint: complaint.hint)
      }
      checkKeyID(found, &layers, severity)
    } catch {
      layers.add(severity, source, key: key(field), error.message, hint: error.hint)
    }
  }

  private func checkKeyID(
    _ found: ProviderKeyFile, _ layers: inout SettingsLayers, _ severity: SettingsFinding.Severity
  ) {
    let field = "key_id"
    switch (credentials.keyID, found.keyID) {
    case (nil, nil):
      layers.add(
        severity, source("key_file", layers), key: key(field),
        "is needed together with \(key("key_file")), whose name does not say it",
        hint: "the name that Apple gives is AuthKey_<key id>.p8")
    case (let set?, let named?) where set != named:
      layers.add(
        .warning, source(field, layers), key: key(field),
        "is \(set), the file's name says \(named)",
        hint: "leave key_id out, and the name says it, also when another key is put in place")
    default: break
    }
  }

  /// Only the passphrase shows the contents.
  private func checkSecret(
    _ path: String, _ field: String, _ layers: inout SettingsLayers,
    _ severity: SettingsFinding.Severity
  ) {
    let source = source(field, layers)
    do {
      let file = try BoundedFile.readSecret(path, maximumBytes: ClientCertificateFile.maximumBytes)
      layers.warnIfExposed(file, path: path, key: key(field), source: source)
    } catch {
      layers.add(severity, source, key: key(field), error.message, hint: error.hint)
    }
  }
}

/// The files that `certificate_file`, `certificate_key_file` and `certificate_passphrase_file` lead
/// to, read at one time.
package struct ClientCertificateFile: Sendable, Hashable {
  /// With a chain some 10 KiB.
  package static let maximumBytes = 1 << 20

  package let bytes: [UInt8]
  package let passphrase: String?

  /// nil when no certificate is set.
  package static func read(
    _ credentials: Settings.APNs.Credentials
  ) throws(SettingComplaint) -> ClientCertificateFile? {
    guard let path = credentials.certificateFile else { return nil }
    var bytes = try BoundedFile.readSecret(path, maximumBytes: maximumBytes).bytes
    if let path = credentials.certificateKeyFile {
      // As if both were in one file.
      bytes +=
        Array("\n".utf8) + (try BoundedFile.readSecret(path, maximumBytes: maximumBytes)).bytes
    }
    var passphrase: String?
    if let path = credentials.certificatePassphraseFile {
      passphrase = try SecretText.ofFile(try BoundedFile.readSecret(path, maximumBytes: 4_097))
    }
    return ClientCertificateFile(bytes: bytes, passphrase: passphrase)
  }
}
