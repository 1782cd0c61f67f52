import Deliver
import Fixtures
import JSON
import Pipeline
import Processes
import Settings
import Testing
import Transport

@testable import Assembly

/// The service account that workers send to Android with.
@Suite struct FCMCredentialFilesTests {
  private let directory: ScratchDirectory

  init() throws { directory = try ScratchDirectory() }

  private func settings(_ file: String? = nil, token: String? = nil) -> Settings {
    var settings = Settings.defaults
    settings.fcm.serviceAccountFile = file.map(directory.file)
    settings.fcm.tokenFile = token.map(directory.file)
    return settings
  }

  private func write(_ name: String, keyID: String = "k1", project: String = "p-1") throws {
    let account = JSONObject([
      ("type", "service_account"), ("project_id", .string(project)),
      ("private_key_id", .string(keyID)), ("private_key", .string(SampleRSAKey.pem)),
      ("client_email", "a@p-1.iam"), ("token_uri", "http://127.0.0.1:1/token"),
    ])
    try directory.write(String(decoding: JSONText.bytes(.object(account)), as: UTF8.self), to: name)
  }

  private func refusal(_ settings: Settings) -> String? {
    do throws(SettingsError) {
      _ = try FCMCredentialFiles.all(settings)
      return nil
    } catch {
      return error.problems.map { "\($0.key ?? ""): \($0.message)" }.joined()
    }
  }

  @Test func nothingGoesToAndroidWhereNothingIsSet() throws {
    #expect(try FCMCredentialFiles.all(settings()).isEmpty)
    #expect(try Assembly.deliverRoutes(settings())[.fcm] == nil)
    try write("a.json")
    let target = try #require(try Assembly.deliverRoutes(settings("a.json"))[.fcm])
    #expect(target.endpoint == Endpoint(host: "fcm.googleapis.com", port: 443))
    #expect(target.connections?.streams == 100)
  }

  /// A worker for Android alone needs no key of Apple's.
  @Test func oneWithoutAppleHasOneAccount() throws {
    try write("a.json")
    let files = try AppCredentialFiles(settings("a.json"))
    #expect(files.credentials.all.map(\.platform) == ["fcm"])
    #expect(files.credentials.account(of: "com.example.live", on: "fcm") != nil)
    #expect(files.credentials.account(of: "com.example.live", on: "apns") == nil)
  }

  @Test func aFileThatIsNoAccountIsNamed() throws {
    #expect(refusal(settings("none.json"))?.hasPrefix("fcm.service_account_file: ") == true)
    try directory.write(#"{"type":"authorized_user"}"#, to: "user.json")
    #expect(refusal(settings("user.json"))?.contains("must be service_account") == true)
    try write("odd.json", project: "a/b")
    #expect(refusal(settings("odd.json"))?.contains("no id of a project") == true)
    var token = settings(token: "t")
    token.fcm.project = "a/b"
    #expect(refusal(token)?.hasPrefix("fcm.project: ") == true)
  }

  @Test func anotherKeyIsTakenAndABrokenFileIsNot() throws {
    try write("a.json")
    let files = try #require(try FCMCredentialFiles.all(settings("a.json")).first)
    #expect(files.look() == nil)
    try write("a.json", keyID: "k2")
    #expect(files.look() == .replaced("key k2 of a@p-1.iam") && files.look() == nil)
    try directory.write("{", to: "a.json")
    guard case .refused = files.look() else {
      Issue.record("a broken file is refused")
      return
    }
    #expect(files.look() == nil && files.isUnfit)
    try write("a.json", keyID: "k2")
    #expect(files.look() == nil && !files.isUnfit)
  }

  @Test func appsOfOneProjectShareItsConnections() throws {
    try write("a.json")
    try write("b.json", project: "p-2")
    var settings = settings("a.json")
    settings.fcm.messagesPerMinute = 6_000
    for (app, file) in [("a.b", "b.json"), ("c.d", "b.json"), ("e.f", "a.json")] {
      var account = Settings.FCM.Account()
      account.serviceAccountFile = directory.file(file)
      settings.fcm.apps[app] = account
    }
    let files = try AppCredentialFiles(settings)
    let credentials = files.credentials
    #expect(credentials.all.map(\.name) == ["a.b, c.d", "e.f, other apps"])
    #expect(credentials.index(of: "a.b", on: "fcm") == 0)
    #expect(credentials.index(of: "c.d", on: "fcm") == 0)
    #expect(credentials.index(of: "e.f", on: "fcm") == 1)
    #expect(credentials.index(of: "x.y", on: "fcm") == 1)
    #expect(
      ["a.b", "e.f"].map { credentials.account(of: $0, on: "fcm")?.quota }
        == [PushQuota(project: "p-2", rate: 100), PushQuota(project: "p-1", rate: 100)])
    try write("b.json", keyID: "k2", project: "p-2")
    let change = CredentialChange.replaced("a.b, c.d: key k2 of a@p-1.iam")
    #expect(files.look() == [PlatformCredentialChange(.fcm, change)])
  }

  @Test func onlyNamedAppsAreServedWithoutOthers() throws {
    var settings = settings()
    var account = Settings.FCM.Account()
    account.tokenCommand = ["/nowhere/token"]
    account.project = "p-1"
    settings.fcm.apps["a.b"] = account
    let credentials = try AppCredentialFiles(settings).credentials
    #expect(credentials.account(of: "a.b", on: "fcm")?.quota == nil)
    #expect(credentials.account(of: "x.y", on: "fcm") == nil)
    settings.fcm.apps["a.b"]?.project = "p/1"
    #expect(refusal(settings)?.hasPrefix("fcm.apps.a.b.project: ") == true)
    settings.fcm.apps["a.b"] = Settings.FCM.Account()
    #expect(refusal(settings)?.hasPrefix("fcm.apps.a.b.service_account_file: ") == true)
  }
}
