import Redis
import Settings
import TLS
import Threads

/// The files that a connection to Redis is made with. They are read again for each connection:
/// tokens and certificates are replaced in them while the process runs.
final class RedisFiles: Sendable {
  private struct State {
    /// Of certificate, key and authorities, as they were read last.
    var contents: [[UInt8]]
    var tls: TLSClientContext?
    var password: String?
    var complaint: String?
  }

  private let settings: Settings.Redis.TLS
  private let passwordFile: String?
  private let state: ThreadLock<State>

  /// - Parameters:
  ///   - passwordFile: nil: the password is no file's, and stays.
  ///   - prefix: of the keys of `settings`.
  init(
    _ settings: Settings.Redis.TLS, passwordFile: String?, _ prefix: String
  ) throws(SettingsError) {
    self.settings = settings
    self.passwordFile = passwordFile
    do throws(SettingComplaint) {
      let contents = try Self.contents(settings)
      state = ThreadLock(
        State(contents: contents, tls: try Self.context(settings, contents), password: nil))
    } catch {
      let isOfAuthority = settings.certificateFile == nil
      throw Assembly.problem(
        prefix + (isOfAuthority ? "ca_file" : "certificate_file"), error.message,
        hint: error.hint ?? "it must hold PEM certificates")
    }
  }

  var tls: TLSClientContext? { state.withLock { $0.tls } }

  /// Sets password and certificates as the files have them now. What cannot be used leaves what was
  /// read before in force.
  /// - Returns: what is wrong with the files, where that is new.
  func refresh(_ options: inout RedisOptions) -> String? {
    state.withLock { state in
      var complaints: [String] = []
      do throws(SettingComplaint) { try readPassword(&state) } catch {
        complaints.append("password_file: \(error.message); the password before is used on")
      }
      do throws(SettingComplaint) { try readCertificates(&state) } catch {
        complaints.append("tls: \(error.message); the certificate before is used on")
      }
      if let password = state.password { options.password = password }
      options.tls = state.tls
      let complaint = complaints.isEmpty ? nil : complaints.joined(separator: "; ")
      defer { state.complaint = complaint }
      return complaint == state.complaint ? nil : complaint
    }
  }

  private func readPassword(_ state: inout State) throws(SettingComplaint) {
    guard let passwordFile else { return }
    let file = try BoundedFile.read(passwordFile, maximumBytes: 4_096)
    state.password = try SecretText.ofFile(file)
  }

  private func readCertificates(_ state: inout State) throws(SettingComplaint) {
    let contents = try Self.contents(settings)
    guard contents != state.contents else { return }
    state.tls = try Self.context(settings, contents)
    state.contents = contents
  }

  /// Authorities first.
  private static func contents(
    _ settings: Settings.Redis.TLS
  ) throws(SettingComplaint) -> [[UInt8]] {
    guard settings.enabled else { return [] }
    var contents: [[UInt8]] = []
    for path in [settings.caFile, settings.certificateFile, settings.keyFile] {
      guard let path else { continue }
      contents.append(try BoundedFile.read(path, maximumBytes: maximumBytes).bytes)
    }
    return contents
  }

  /// The system's own bundle of certificates is about 230 KiB.
  private static let maximumBytes = 4 << 20

  private static func context(
    _ settings: Settings.Redis.TLS, _ contents: [[UInt8]]
  ) throws(SettingComplaint) -> TLSClientContext? {
    guard settings.enabled else { return nil }
    do throws(TLSError) {
      var own: ClientCertificate?
      if settings.certificateFile != nil {
        let files = contents.dropFirst(settings.caFile == nil ? 0 : 1)
        own = try ClientCertificate(file: Array(files.joined(separator: [0x0A])), passphrase: nil)
      }
      return try TLSClientContext(caFile: settings.caFile, alpn: [], certificate: own)
    } catch {
      throw SettingComplaint("\(error)")
    }
  }
}
