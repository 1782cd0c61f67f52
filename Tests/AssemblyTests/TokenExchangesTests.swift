import Deliver
import EventLoop
import HTTPServer
import Settings
import Testing
import Transport

@testable import Assembly
@testable import FCM

/// How access tokens are asked for: of a metadata server, and of programs.
@Suite struct TokenExchangesTests {
  private static let base = "/computeMetadata/v1/"

  /// Runs a metadata server.
  private func serve(
    _ answers: [String: HTTPResponse], _ body: (String) async throws -> Void
  ) async throws {
    let loop = EventLoop(name: "metadata")
    let options = HTTPServerOptions(wallClock: { 0 })
    let server = HTTPServer(loop: loop, options: options, staysOnLoop: true) { request in
      guard request.headers["metadata-flavor"] == "Google" else { return .text(403, "") }
      return answers[request.path] ?? .text(404, "not found")
    }
    let port = try await server.start()
    defer { loop.stop() }
    try await body("127.0.0.1:\(port)")
    await server.stop()
  }

  private static func answer(_ text: String, _ status: Int = 200) -> HTTPResponse {
    HTTPResponse(
      status: status, contentType: "text/plain", headers: ["Metadata-Flavor": "Google"],
      body: Array(text.utf8))
  }

  private static let token = #"{"access_token":"ya29.m","expires_in":3600,"token_type":"Bearer"}"#

  /// - Parameter proxy: the port of a proxy that is none.
  private func metadata(
    _ host: String, project: String? = nil, proxy: Int? = nil
  ) throws -> FCMCredentialFiles {
    var settings = Settings.defaults
    settings.fcm.metadata = true
    settings.fcm.metadataHost = host
    settings.fcm.project = project
    if let proxy { (settings.fcm.proxy.host, settings.fcm.proxy.port) = ("127.0.0.1", proxy) }
    return try #require(try FCMCredentialFiles.all(settings).first)
  }

  /// Asks until there is an outcome.
  private func outcome(_ files: FCMCredentialFiles) async -> String {
    let deadline = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < deadline {
      do throws(CredentialProblem) {
        _ = try files.account.credential(now: 0)
        return files.projectName
      } catch {
        if error.reason != "an access token is asked for" { return error.reason }
      }
      await Task.yield()
    }
    return "no outcome"
  }

  @Test func theMetadataServerNamesTheProjectAndGivesTokens() async throws {
    let answers = [
      Self.base + "project/project-id": Self.answer("p-7"),
      Self.base + "instance/service-accounts/default/token": Self.answer(Self.token),
    ]
    try await serve(answers) { host in
      let files = try metadata(host)
      #expect(files.projectName == "unknown project")
      #expect(files.sourceName == "metadata server \(host)")
      #expect(await outcome(files) == "project p-7")
    }
  }

  @Test func theMetadataServerIsNotAskedThroughTheProxy() async throws {
    let answers = [
      Self.base + "instance/service-accounts/default/token": Self.answer(Self.token)
    ]
    try await serve(answers) { host in
      let files = try metadata(host, project: "p-1", proxy: 1)
      #expect(await outcome(files) == "project p-1")
    }
  }

  /// The proxy is a server that leads nowhere. Nobody else knows the token server's name.
  @Test func tokenServersAreAskedThroughTheProxy() async throws {
    try await serve([:]) { host in
      let port = try #require(Int(host.split(separator: ":")[1]))
      let proxy = HTTPProxy(endpoint: Endpoint(host: "127.0.0.1", port: port))
      let exchanges = try TokenExchanges(caFile: nil, proxy: proxy, wallClock: { 0 })
      let request = TokenRequest.HTTP(
        method: "POST", url: "https://oauth2.test/token", fields: [], body: [])
      guard case .failure(let why) = await exchanges.reply(to: .http(request)) else {
        Issue.record("there is an answer")
        return
      }
      #expect(why.contains("the proxy \(host) "), "\(why)")
    }
  }

  @Test func aProjectThatIsSetIsNotAskedFor() async throws {
    let answers = [
      Self.base + "instance/service-accounts/default/token": Self.answer(Self.token)
    ]
    try await serve(answers) { host in
      #expect(await outcome(try metadata(host, project: "p-1")) == "project p-1")
      let reason = await outcome(try metadata(host))
      #expect(reason == "no access token: \(host): it is no metadata server (status 404)")
    }
  }

  @Test func anotherServerIsNoMetadataServer() async throws {
    let answers = [
      Self.base + "project/project-id": HTTPResponse.text(200, "p-7"),
      Self.base + "instance/service-accounts/default/token": Self.answer("", 403),
    ]
    try await serve(answers) { host in
      let reason = await outcome(try metadata(host))
      #expect(reason == "no access token: \(host): it is no metadata server (status 200)")
      #expect(
        await outcome(try metadata(host, project: "p-1")) == "no access token: status 403")
    }
    try await serve([Self.base + "project/project-id": Self.answer("<html>")]) { host in
      let reason = await outcome(try metadata(host))
      #expect(reason == "no access token: \(host): names no project")
    }
  }

  // MARK: programs

  private func run(_ words: String...) async throws -> TokenReply {
    try await TokenExchanges(caFile: nil, wallClock: { 0 }).reply(to: .command(words))
  }

  @Test func aProgramPrintsAToken() async throws {
    #expect(try await run("echo", "ya29.p") == .text(Array("ya29.p\n".utf8)))
  }

  @Test func aProgramThatFailsSaysWhyWithoutTokens() async throws {
    let said = "no: ya29.a0AfB_byC4d5E6f7G8h9I0jKlMnOpQrStUv at https://iam.example.com/a"
    let reply = try await run("sh", "-c", "echo '\(said)' >&2; exit 3")
    #expect(
      reply == .failure("sh: exit code 3: no: [redacted] at https://iam.example.com/a"))
  }

  @Test(arguments: [
    ("gcloud.auth: run `gcloud auth login`", "gcloud.auth: run `gcloud auth login`"),
    ("token=" + String(repeating: "a1", count: 12), "[redacted]"),
    ("x:" + String(repeating: "a", count: 64) + ".", "x:[redacted]"),
    (String(repeating: "a", count: 63), String(repeating: "a", count: 63)),
    ("20261121080000202611210800", "20261121080000202611210800"),
    ("", ""),
  ])
  func whatMayBeATokenIsNotShown(line: String, shown: String) {
    #expect(TokenExchanges.withoutTokens(line) == shown)
  }

  // MARK: addresses

  @Test(
    arguments: [
      ("https://oauth2.googleapis.com/token", "oauth2.googleapis.com", 443, "/token"),
      ("https://localhost:8443/a/b?c=d#e", "localhost", 8443, "/a/b?c=d"),
      ("https://a.b", "a.b", 443, "/"), ("https://a.b?x", "a.b", 443, "/?x"),
      ("http://a.b/x", "a.b", 80, "/x"), ("http://[::1]:8080/x", "::1", 8080, "/x"),
      ("https://[fd20:ce::254]/", "fd20:ce::254", 443, "/"),
    ])
  func anAddressIsTakenApart(url: String, host: String, port: Int, path: String) {
    let address = HTTPAddress(url)
    #expect(address?.endpoint == Endpoint(host: host, port: port) && address?.path == path)
    #expect(address?.isPlain == url.hasPrefix("http:"))
  }

  @Test(arguments: [
    "https://", "https:///x", "https://a:0/", "https://a:b/", "https://a@b/", "ftp://a.b/",
    "http://::1/", "https://a:/",
  ])
  func whatIsNoAddressIsRefused(url: String) { #expect(HTTPAddress(url) == nil) }
}
