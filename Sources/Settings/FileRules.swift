/// Looks at the files that settings name. Whether a key is of the right curve and a certificate is
/// sound is for those who use them to say.
struct FileRules {
  /// The system's own bundle of certificates is about 230 KiB.
  static let maximumCertificateBytes = 4 << 20

  let settings: Settings

  /// - Parameter needsCredentials: whether nothing can be done without the files that prove to
  ///   Apple who we are. To others a fault in them is no more than news: who stops a fan-out at
  ///   night needs no key, and who sends by hand reads them for itself.
  func check(_ layers: inout SettingsLayers, needsCredentials: Bool) {
    let severity: SettingsFinding.Severity = needsCredentials ? .problem : .warning
    CredentialRules(settings.apns.credentials).checkFiles(&layers, severity)
    for (app, credentials) in settings.apns.apps.sorted(by: { $0.key < $1.key }) {
      CredentialRules(credentials, of: app).checkFiles(&layers, severity)
    }
    let certificates = [
      ("apns.ca_file", settings.apns.caFile), ("fcm.ca_file", settings.fcm.caFile),
      ("webpush.ca_file", settings.webpush.caFile),
      ("traces.ca_file", settings.traces.caFile),
      ("redis.tls.ca_file", settings.redis.tls.caFile),
      ("redis.sentinel.tls.ca_file", settings.redis.sentinel.tls.caFile),
      ("kafka.security.ca_file", settings.kafka.security.caFile),
    ]
    for (key, path) in certificates {
      if let path { checkCertificates(path, key, &layers) }
    }
    let (redis, sentinel) = (settings.redis.tls, settings.redis.sentinel.tls)
    let secrets = [
      ("api.keys_file", settings.api.keysFile), ("api.tls.key_file", settings.api.tls.keyFile),
      ("redis.tls.key_file", redis.keyFile), ("redis.sentinel.tls.key_file", sentinel.keyFile),
      // Without a file for the key, the certificate's file holds it.
      ("redis.tls.certificate_file", redis.keyFile == nil ? redis.certificateFile : nil),
      (
        "redis.sentinel.tls.certificate_file",
        sentinel.keyFile == nil ? sentinel.certificateFile : nil
      ),
    ]
    for (key, path) in secrets {
      // Mistakes in the file are for its readers to report.
      guard let path, let file = try? BoundedFile.read(path, maximumBytes: 1 << 20) else {
        continue
      }
      layers.warnIfExposed(file, path: path, key: key, source: layers.source(of: key))
    }
  }

  /// Says what the file is instead; shows nothing of it.
  static func complaint(aboutKey pem: String, _ path: String) -> SettingComplaint? {
    func has(_ label: String) -> Bool { pem.contains("-----BEGIN \(label)-----") }
    if has("PRIVATE KEY") {
      return pem.contains("-----END PRIVATE KEY-----")
        ? nil : SettingComplaint("\(Shown.path(path)) is cut off: there is no end of the key")
    }
    let expected = "must be the .p8 file from Apple (PEM, `BEGIN PRIVATE KEY`)"
    if has("CERTIFICATE") {
      return SettingComplaint("\(expected), \(Shown.path(path)) is a certificate")
    }
    if has("EC PRIVATE KEY") {
      return SettingComplaint(
        "\(expected), \(Shown.path(path)) is an EC key in the older form",
        hint: "convert it with openssl pkcs8 -topk8 -nocrypt")
    }
    if has("ENCRYPTED PRIVATE KEY") {
      return SettingComplaint("\(expected), \(Shown.path(path)) is encrypted")
    }
    if has("RSA PRIVATE KEY") || has("PUBLIC KEY") {
      return SettingComplaint("\(expected), \(Shown.path(path)) is another kind of key")
    }
    return SettingComplaint("\(expected), \(Shown.path(path)) is none")
  }

  private func checkCertificates(_ path: String, _ key: String, _ layers: inout SettingsLayers) {
    let source = layers.source(of: key)
    do {
      let file = try BoundedFile.read(path, maximumBytes: Self.maximumCertificateBytes)
      guard
        file.text.contains("-----BEGIN CERTIFICATE-----")
          || file.text.contains("-----BEGIN TRUSTED CERTIFICATE-----")
      else {
        layers.add(
          .problem, source, key: key,
          "must hold PEM certificates (`BEGIN CERTIFICATE`), \(Shown.path(path)) holds none")
        return
      }
    } catch {
      layers.add(.problem, source, key: key, error.message, hint: error.hint)
    }
  }
}
