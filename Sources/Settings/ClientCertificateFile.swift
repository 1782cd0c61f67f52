/// The files that `apns.certificate_file` and `apns.certificate_passphrase_file` lead to, read at
/// one time.
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
    let file = try BoundedFile.read(path, maximumBytes: maximumBytes)
    var passphrase: String?
    if let path = credentials.certificatePassphraseFile {
      passphrase = try SecretText.ofFile(try BoundedFile.read(path, maximumBytes: 4_097))
    }
    return ClientCertificateFile(bytes: file.bytes, passphrase: passphrase)
  }
}
