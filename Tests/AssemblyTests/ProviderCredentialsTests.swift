import Assembly
import Deliver
import Glibc
import Pipeline
import Processes
import Settings
import TLS
import Testing
import Text

/// A key that is changed under a worker that runs.
@Suite struct ProviderCredentialsTests {
  private static let now: Int64 = 1_767_225_600_000

  private let directory: ScratchDirectory

  init() throws { directory = try ScratchDirectory() }

  private func settings(_ path: String, keyID: String? = nil) -> Settings {
    var settings = Settings.defaults
    settings.apns.keyFile = directory.file(path)
    settings.apns.keyID = keyID
    settings.apns.teamID = "TEAMTEAM12"
    return settings
  }

  private func write(_ path: String) throws { try directory.write(key(), to: path) }

  private func key() throws -> String { try ES256Key.generate().privateKeyPEM }

  private func shown(_ credentials: ProviderCredentials) throws -> [UInt8] {
    Array(try credentials.tokens.token(now: Self.now).authorization.bytes)
  }

  @Test func takesAKeyThatIsRenamedIntoItsPlace() throws {
    try write("k.p8")
    let credentials = try ProviderCredentials(settings("k.p8", keyID: "KEYKEYKEY1"))
    let first = try shown(credentials)
    #expect(credentials.look() == nil)
    #expect(try shown(credentials) == first)
    try write("new.p8")
    rename(directory.file("new.p8"), directory.file("k.p8"))
    #expect(credentials.look() == .replaced("key KEYKEYKEY1 of team TEAMTEAM12"))
    #expect(credentials.look() == nil)
    #expect(try shown(credentials) != first)
  }

  /// As Kubernetes does, with another name of the file.
  @Test func takesTheIDFromTheNameOfTheKeyThatALinkLeadsTo() throws {
    for (version, id) in [("v1", "KEYKEYKEY1"), ("v2", "KEYKEYKEY2")] {
      mkdir(directory.file(version), 0o755)
      try write("\(version)/AuthKey_\(id).p8")
    }
    symlink("v1", directory.file("current"))
    let credentials = try ProviderCredentials(settings("current"))
    #expect(credentials.tokens.keyID == "KEYKEYKEY1")
    symlink("v2", directory.file("next"))
    rename(directory.file("next"), directory.file("current"))
    #expect(credentials.look() == .replaced("key KEYKEYKEY2 of team TEAMTEAM12"))
    #expect(credentials.tokens.keyID == "KEYKEYKEY2")
  }

  @Test(arguments: ["", "half", "garbage", "gone", "without its name"])
  func keepsTheKeyWhenWhatCameIsBroken(fault: String) throws {
    try write("AuthKey_KEYKEYKEY1.p8")
    symlink("AuthKey_KEYKEYKEY1.p8", directory.file("k.p8"))
    let credentials = try ProviderCredentials(settings("k.p8"))
    let first = try shown(credentials)
    let whole = try key()
    switch fault {
    case "half": try directory.write(String(whole.prefix(120)), to: "AuthKey_KEYKEYKEY2.p8")
    case "gone": break
    case "without its name": try directory.write(whole, to: "renamed.p8")
    default: try directory.write(fault, to: "AuthKey_KEYKEYKEY2.p8")
    }
    let target = fault == "without its name" ? "renamed.p8" : "AuthKey_KEYKEYKEY2.p8"
    symlink(target, directory.file("next"))
    rename(directory.file("next"), directory.file("k.p8"))
    guard case .refused(let reason) = credentials.look() else {
      Issue.record("not refused")
      return
    }
    #expect(!reason.contains("MIG"), "nothing of a key is shown")
    // Said once, and once more when it is another fault; a gauge says it all the time.
    #expect(credentials.look() == nil && credentials.isUnfit)
    #expect(try shown(credentials) == first)
    // What is whole in the end is used.
    try directory.write(whole, to: "AuthKey_KEYKEYKEY2.p8")
    symlink("AuthKey_KEYKEYKEY2.p8", directory.file("next"))
    rename(directory.file("next"), directory.file("k.p8"))
    #expect(credentials.look() == .replaced("key KEYKEYKEY2 of team TEAMTEAM12"))
    #expect(!credentials.isUnfit)
    #expect(try shown(credentials) != first)
  }

  /// Apple would refuse each push that is signed by the new key under the old one's id.
  @Test func keepsTheKeyWhenTheSettingsSayAnotherID() throws {
    mkdir(directory.file("secret"), 0o755)
    try write("secret/AuthKey_KEYKEYKEY1.p8")
    let credentials = try ProviderCredentials(settings("secret", keyID: "KEYKEYKEY1"))
    let first = try shown(credentials)
    try write("secret/AuthKey_KEYKEYKEY2.p8")
    unlink(directory.file("secret/AuthKey_KEYKEYKEY1.p8"))
    guard case .refused(let reason) = credentials.look() else {
      Issue.record("not refused")
      return
    }
    #expect(reason.contains("key_id is KEYKEYKEY1") && reason.contains("KEYKEYKEY2"))
    #expect(credentials.look() == nil)
    #expect(try shown(credentials) == first)
  }

  /// The same key again is no news, and makes no new connections.
  @Test func theSameKeyThatIsWrittenAgainIsTheSame() throws {
    let pem = try key()
    try directory.write(pem, to: "k.p8")
    let credentials = try ProviderCredentials(settings("k.p8", keyID: "KEYKEYKEY1"))
    let token = try credentials.tokens.token(now: Self.now)
    try directory.write("", to: "k.p8")
    guard case .refused = credentials.look() else {
      Issue.record("not refused")
      return
    }
    try directory.write(pem, to: "k.p8")
    #expect(credentials.look() == nil)
    #expect(try credentials.tokens.token(now: Self.now) === token)
    try directory.write("", to: "k.p8")
    #expect(credentials.look() != nil, "a second fault is said too")
  }
}
