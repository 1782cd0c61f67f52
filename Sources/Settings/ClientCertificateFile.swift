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
