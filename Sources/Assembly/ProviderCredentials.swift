import APNs
import Deliver
import Pipeline
import Settings
import TLS
import Telemetry
import Threads

/// The key that `apns.key_file` leads to, now and whenever another is put in its place: the source
/// of tokens is the same object for all lanes, whatever the key.
package final class ProviderCredentials: Sendable {
  package let tokens: ProviderTokenSource

  private let path: String
  private let prefix: String
  private let settings: Settings.APNs.Credentials
  private let state: ThreadLock<State>

  private struct State {
    var inUse: Identity
    /// Why what was found last is not used; nil when it is.
    var refusal: String?
  }

  /// Tells one key from another. A hash of the key is kept, not the key itself.
  private struct Identity: Equatable {
    var keyID: String
    var hash: Int
  }

  /// Of all apps that have none of their own.
  package convenience init(_ settings: Settings) throws(SettingsError) {
    try self.init(CredentialGroup(settings: settings.apns.credentials), settings.apns)
  }

  package init(_ group: CredentialGroup, _ apns: Settings.APNs) throws(SettingsError) {
    settings = group.settings
    prefix = group.prefix
    guard let path = settings.keyFile, settings.teamID != nil else {
      throw Assembly.problem(
        "\(prefix)key_file",
        "is not set: sending needs \(prefix)key_file and \(prefix)team_id",
        hint: "the key is made in the Apple developer account, under Keys")
    }
    self.path = path
    do {
      let (found, identity) = try Self.read(path, settings, prefix)
      let key = try Self.key(found.file, identity, settings)
      tokens = ProviderTokenSource(
        key: key, lifetime: apns.tokenLifetime, monotonic: { MonotonicClock.nowNanoseconds() })
      state = ThreadLock(State(inUse: identity))
    } catch {
      throw Assembly.problem("\(prefix)key_file", error.message, hint: error.hint)
    }
  }

  package var isUnfit: Bool { state.withLock { $0.refusal != nil } }

  /// Uses the key that is there now, if it can be used. Says each change once.
  package func look() -> CredentialChange? {
    state.withLock { state in
      do throws(SettingComplaint) {
        let (found, identity) = try Self.read(path, settings, prefix)
        if identity != state.inUse {
          try checkName(found)
          tokens.use(try Self.key(found.file, identity, settings))
          state = State(inUse: identity)
          return .replaced("key \(identity.keyID) of team \(settings.teamID ?? "")")
        }
        state.refusal = nil
        return nil
      } catch {
        guard state.refusal != error.message else { return nil }
        state.refusal = error.message
        return .refused(error.message)
      }
    }
  }

  /// Another key has another id: Apple would refuse every push that names the one before.
  private func checkName(_ found: ProviderKeyFile) throws(SettingComplaint) {
    guard let pinned = settings.keyID, let named = found.keyID, named != pinned else { return }
    throw SettingComplaint(
      "\(prefix)key_id is \(pinned), and the name of the new key says \(named)",
      hint: "leave key_id out, and the name says it; the worker has to be started again for that")
  }

  private static func read(
    _ path: String, _ settings: Settings.APNs.Credentials, _ prefix: String
  ) throws(SettingComplaint) -> (ProviderKeyFile, Identity) {
    let found = try ProviderKeyFile.read(path)
    guard let keyID = settings.keyID ?? found.keyID else {
      throw SettingComplaint(
        "\(prefix)key_id is not set, and the name of \(Shown.path(path)) does not say it",
        hint: "the name that Apple gives is AuthKey_<key id>.p8")
    }
    return (found, Identity(keyID: keyID, hash: found.file.bytes.hashValue))
  }

  private static func key(
    _ file: BoundedFile, _ identity: Identity, _ settings: Settings.APNs.Credentials
  ) throws(SettingComplaint) -> ProviderKey {
    do {
      let key = try ES256Key(pem: file.text)
      return ProviderKey(
        keyID: identity.keyID, teamID: settings.teamID ?? "", sign: { try key.sign($0) })
    } catch {
      throw SettingComplaint("\(error)", hint: "download the .p8 file from Apple again, whole")
    }
  }
}
