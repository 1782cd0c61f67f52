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
    do throws(Fault) {
      let contents = try Self.contents(settings)
      state = ThreadLock(
        State(contents: contents, tls: try Self.context(settings, contents), password: nil))
    } catch {
      throw Assembly.problem(prefix + error.key, error.message, hint: error.hint)
    }
  }

  var tls: TLSClientContext? { state.withLock { $0.tls } }

  /// Sets password and certificates as the files have them now. Files that cannot be used leave the
  /// earlier ones in force.
  /// - Returns: what is wrong with the files, where that is new.
  func refresh(_ options: inout RedisOptions) -> String? {
    state.withLock { state in
      var complaints: [String] = []
      do throws(SettingComplaint) { try readPassword(&state) } catch {
        complaints.append("password_file: \(error.message); the password before is used on")
      }
      do throws(Fault) { try readCertificates(&state) } catch {
        complaints.append("tls.\(error.key): \(error.message); the certificate before is used on")
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
    let file = try BoundedFile.readSecret(passwordFile, maximumBytes: 4_096)
    state.password = try SecretText.ofFile(file)
  }

  private func readCertificates(_ state: inout State) throws(Fault) {
    let contents = try Self.contents(settings)
    guard contents != state.contents else { return }
    state.tls = try Self.context(settings, contents)
    state.contents = contents
  }

  /// A file that cannot be used, by the key that names it.
  private struct Fault: Error {
    let key: String
    let message: String
    let hint: String?
  }

  /// Authorities first.
  private static func contents(_ settings: Settings.Redis.TLS) throws(Fault) -> [[UInt8]] {
    guard settings.enabled else { return [] }
    var contents: [[UInt8]] = []
    for (key, path, isSecret) in [
      ("ca_file", settings.caFile, false),
      ("certificate_file", settings.certificateFile, settings.keyFile == nil),
      ("key_file", settings.keyFile, true),
    ] {
      guard let path else { continue }
      do throws(SettingComplaint) {
        let file =
          isSecret
          ? try BoundedFile.readSecret(path, maximumBytes: maximumBytes)
          : try BoundedFile.read(path, maximumBytes: maximumBytes)
        contents.append(file.bytes)
      } catch {
        throw Fault(key: key, message: error.message, hint: error.hint)
      }
    }
    return contents
  }

  /// The system's own bundle of certificates is about 230 KiB.
  private static let maximumBytes = 4 << 20

  private static func context(
    _ settings: Settings.Redis.TLS, _ contents: [[UInt8]]
  ) throws(Fault) -> TLSClientContext? {
    guard settings.enabled else { return nil }
    do throws(TLSError) {
      var own: ClientCertificate?
      if settings.certificateFile != nil {
        let files = contents.dropFirst(settings.caFile == nil ? 0 : 1)
        own = try ClientCertificate(file: Array(files.joined(separator: [0x0A])), passphrase: nil)
      }
      return try TLSClientContext(caFile: settings.caFile, alpn: [], certificate: own)
    } catch {
      let hint = "it must hold PEM certificates"
      switch error.code {
      case .badAuthority: throw Fault(key: "ca_file", message: "\(error)", hint: hint)
      case .badKey where settings.keyFile != nil:
        throw Fault(
          key: "key_file", message: "\(error)", hint: "it must hold the certificate's key in PEM")
      default: throw Fault(key: "certificate_file", message: "\(error)", hint: hint)
      }
    }
  }
}
