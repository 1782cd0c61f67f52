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
      _ = try FCMCredentialFiles(settings)
      return nil
    } catch {
      return error.problems.map { "\($0.key ?? ""): \($0.message)" }.joined()
    }
  }

  @Test func nothingGoesToAndroidWhereNothingIsSet() throws {
    #expect(try FCMCredentialFiles(settings()) == nil)
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
    let files = try #require(try FCMCredentialFiles(settings("a.json")))
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

  @Test(arguments: [
    ("https://oauth2.googleapis.com/token", "oauth2.googleapis.com", 443, "/token"),
    ("https://localhost:8443/a/b?c=d#e", "localhost", 8443, "/a/b?c=d"),
    ("https://a.b", "a.b", 443, "/"), ("https://a.b?x", "a.b", 443, "/?x"),
  ])
  func anAddressIsTakenApart(url: String, host: String, port: Int, path: String) {
    let address = HTTPSAddress(url)
    #expect(address?.endpoint == Endpoint(host: host, port: port) && address?.path == path)
  }

  @Test(arguments: [
    "http://a.b/", "https://", "https:///x", "https://a:0/", "https://a:b/", "https://a@b/",
    "https://[::1]/", "ftp://a.b/",
  ])
  func whatIsNoAddressIsRefused(url: String) { #expect(HTTPSAddress(url) == nil) }
}
