import APNs
import Deliver
import Pipeline
import Settings
import TLS
import Telemetry
import Threads

/// The certificate that `certificate_file` leads to. Apple's last 13 months, and the end of one is
/// the end of all pushes: it is said again and again before.
package final class CertificateCredentials: CredentialFiles {
  /// Ms. Time enough to order another and to put it in place.
  package static let warnedOf: Int64 = 30 * 24 * 3600 * 1000
  /// Ms between one warning and the next.
  private static let betweenWarnings: Int64 = 24 * 3600 * 1000
  package let identity: ClientIdentity
  package var credentials: APNsCredentials { .certificate(identity) }

  private let settings: Settings.APNs.Credentials
  private let caFile: String?
  private let clock: @Sendable () -> Int64
  private let state: ThreadLock<State>

  private struct State {
    /// No key is kept to compare with: the hash of the files does.
    var hash: Int
    var contents: CertificateContents
    /// Why what was found last is not used; nil when it is.
    var refusal: String?
    var nextWarning: Int64 = 0
  }

  /// Of all apps that have none of their own.
  /// - Parameter clock: ms since 1970.
  package convenience init(
    _ settings: Settings, clock: @escaping @Sendable () -> Int64 = { WallClock.nowMilliseconds() }
  ) throws(SettingsError) {
    try self.init(
      CredentialGroup(settings: settings.apns.credentials), settings.apns, clock: clock)
  }

  package init(
    _ group: CredentialGroup, _ apns: Settings.APNs,
    clock: @escaping @Sendable () -> Int64 = { WallClock.nowMilliseconds() }
  ) throws(SettingsError) {
    settings = group.settings
    caFile = apns.caFile
    self.clock = clock
    do throws(SettingComplaint) {
      guard let file = try ClientCertificateFile.read(settings) else {
        throw SettingComplaint("is not set")
      }
      let (certificate, contents) = try Self.open(file, caFile)
      try Self.checkBegin(contents, now: clock())
      identity = ClientIdentity(certificate)
      state = ThreadLock(State(hash: file.hashValue, contents: contents))
    } catch {
      throw Assembly.problem("\(group.prefix)certificate_file", error.message, hint: error.hint)
    }
  }

  package var contents: CertificateContents { state.withLock { $0.contents } }
  package var expiresAt: Int64? { contents.expiresAt }
  package var isUnfit: Bool { state.withLock { $0.refusal != nil } }

  package func look() -> CredentialChange? {
    state.withLock { state in
      do throws(SettingComplaint) {
        guard let file = try ClientCertificateFile.read(settings) else { return nil }
        guard file.hashValue != state.hash else {
          state.refusal = nil
          return expiry(&state)
        }
        let (certificate, contents) = try Self.open(file, caFile)
        guard contents.expiresAt * 1000 > clock() else {
          throw SettingComplaint("the certificate has expired")
        }
        try Self.checkBegin(contents, now: clock())
        let lost = Set(state.contents.servedTopics).subtracting(contents.servedTopics).sorted()
        guard lost.isEmpty else {
          throw SettingComplaint(
            "the certificate is not for \(lost.joined(separator: ", ")), and the one in use is",
            hint: "where that is meant, start the worker again")
        }
        identity.use(certificate)
        state = State(hash: file.hashValue, contents: contents)
        return .replaced(contents.words)
      } catch {
        guard state.refusal != error.message else { return expiry(&state) }
        state.refusal = error.message
        return .refused(error.message)
      }
    }
  }

  private static func checkBegin(
    _ contents: CertificateContents, now: Int64
  ) throws(SettingComplaint) {
    guard contents.beginsAt * 1000 <= now else {
      throw SettingComplaint(
        "the certificate is not valid before \(WallClock.rfc3339(contents.beginsAt * 1000))")
    }
  }

  private func expiry(_ state: inout State) -> CredentialChange? {
    let now = clock()
    let end = state.contents.expiresAt * 1000
    guard end - now < Self.warnedOf, now >= state.nextWarning else { return nil }
    state.nextWarning = now + Self.betweenWarnings
    return end > now ? .expires(state.contents.words) : .expired(state.contents.words)
  }

  private static func open(
    _ file: ClientCertificateFile, _ caFile: String?
  ) throws(SettingComplaint) -> (ClientIdentity.Certificate, CertificateContents) {
    do {
      let read = try ClientCertificate(file: file.bytes, passphrase: file.passphrase)
      let certificate = ClientIdentity.Certificate(
        http2: try TLSClientContext(caFile: caFile, alpn: ["h2"], certificate: read),
        withoutProtocol: try TLSClientContext(caFile: caFile, alpn: [], certificate: read),
        expiresAt: read.contents.expiresAt * 1000, words: read.contents.words)
      return (certificate, read.contents)
    } catch {
      throw SettingComplaint("\(error)")
    }
  }
}

extension CertificateContents {
  package var words: String {
    let names = servedTopics.isEmpty ? "no topic" : servedTopics.joined(separator: ", ")
    return "certificate for \(names), until \(WallClock.rfc3339(expiresAt * 1000))"
  }
}
