import Deliver
import FCM
import Processes
import Settings
import SingleRequests
import TLS
import Text
import Transport

/// Asks a token server or a metadata server, reads a file, or runs a program, for an access token.
struct TokenExchanges: Sendable {
  /// With the connection. Pushes wait for the first token only.
  private static let timeout: Duration = .seconds(10)
  /// A program may ask servers of its own.
  private static let commandTimeout: Duration = .seconds(30)

  private let tls: TLSClientContext
  /// To token servers. A metadata server is the machine's own, and is asked without it.
  private let proxy: HTTPProxy?
  /// Ms since 1970.
  private let wallClock: @Sendable () -> Int64

  init(
    caFile: String?, proxy: HTTPProxy? = nil, wallClock: @escaping @Sendable () -> Int64
  ) throws(SettingsError) {
    tls = try Assembly.security("fcm.ca_file", caFile, protocols: ["h2"])
    self.proxy = proxy
    self.wallClock = wallClock
  }

  func reply(to request: TokenRequest) async -> TokenReply {
    switch request {
    case .file(let path):
      do throws(SettingComplaint) {
        return .text(try BoundedFile.read(path, maximumBytes: TokenReply.maximumBytes).bytes)
      } catch {
        return .failure(error.message)
      }
    case .command(let words): return await run(words)
    case .http(let http): return await ask(http)
    }
  }

  /// Asks the metadata server for the project of this machine, where nobody has named another.
  /// - Returns: why it is not known; nil once it is.
  func learn(_ project: FCMProject, from host: String) async -> TokenReply? {
    guard project.id == nil else { return nil }
    let reply = await ask(.projectID(of: host))
    guard case .answer(200, let body, _) = reply else {
      guard case .answer(let status, _, let retryAfter) = reply else { return reply }
      // The answer about the project is none about a token.
      return .answer(status: status, body: [], retryAfter: retryAfter)
    }
    let id = String(decoding: body, as: UTF8.self)
    guard FCMProject.isID(id) else { return .failure("\(host): names no project") }
    project.learn(id)
    return nil
  }

  // MARK: a program

  private func run(_ words: [String]) async -> TokenReply {
    let output = await CommandOutput.of(
      words, maximumBytes: TokenReply.maximumBytes, timeout: Self.commandTimeout)
    switch output {
    case .output(let bytes): return .text(bytes)
    case .failed(let why, let said):
      let name = words.first ?? ""
      return .failure("\(name): \(why)" + (said.isEmpty ? "" : ": \(Self.withoutTokens(said))"))
    }
  }

  /// A line of a program's, for a log: a word that may be a token, or a part of one, is left out.
  static func withoutTokens(_ line: String) -> String {
    var shown: [UInt8] = []
    var word: [UInt8] = []
    func endWord() {
      let isToken =
        word.count >= 64
        || word.count >= 24 && word.contains(where: \.isASCIIDigit)
          && word.contains { !$0.isASCIIDigit }
      shown += isToken ? Array("[redacted]".utf8) : word
      word = []
    }
    for byte in line.utf8 {
      if byte.isASCIIWord || "-._~+=".utf8.contains(byte) {
        word.append(byte)
      } else {
        endWord()
        shown.append(byte)
      }
    }
    endWord()
    return String(decoding: shown, as: UTF8.self)
  }

  // MARK: a server

  private func ask(_ http: TokenRequest.HTTP) async -> TokenReply {
    guard let address = HTTPAddress(http.url) else {
      return .failure("\(ShortText.of(http.url)) is no https:// or http:// address")
    }
    let request = AppleRequest(
      method: http.method, path: address.path, fields: http.fields.map { .init($0.name, $0.value) },
      body: String(decoding: http.body, as: UTF8.self),
      maximumAnswerBytes: TokenReply.maximumBytes)
    let reply =
      address.isPlain
      ? await PlainRequest.ask(request, of: address.endpoint, timeout: Self.timeout)
      : await SingleRequest.ask(
        request, on: RouteTarget(endpoint: address.endpoint, tls: tls, proxy: proxy),
        authorization: nil, timeout: Self.timeout)
    guard let status = reply.status else {
      return .failure("\(address.endpoint): \(reply.failure ?? "no answer")")
    }
    // Google, "View and query VM metadata": an answer without the field is another server's.
    if http.isForMetadata, reply.field("metadata-flavor") != "Google" {
      return .failure("\(address.endpoint): it is no metadata server (status \(status))")
    }
    let retryAfter = reply.field("retry-after").flatMap { value in
      Array(value.utf8).withUnsafeBytes { RetryAfter.parse($0, now: wallClock()) }
    }
    return .answer(status: status, body: reply.body, retryAfter: retryAfter)
  }
}

/// `https://host:port/path`, as a file of a service account names its token server, or the same
/// without TLS.
struct HTTPAddress: Equatable {
  let endpoint: Endpoint
  let path: String
  /// Without TLS.
  let isPlain: Bool

  init?(_ url: String) {
    isPlain = url.hasPrefix("http://")
    let scheme = isPlain ? "http://" : "https://"
    guard url.hasPrefix(scheme) else { return nil }
    let rest = url.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let path = rest.dropFirst(authority.count).prefix { $0 != "#" }
    self.path = path.hasPrefix("/") ? String(path) : "/" + path
    var host = authority
    var port = isPlain ? 80 : 443
    // The last colon, unless it is one in an IPv6 address, which is in brackets.
    if let colon = authority.lastIndex(of: ":"), authority.last != "]" {
      guard let number = Int(authority[authority.index(after: colon)...]),
        (1...65_535).contains(number)
      else { return nil }
      host = authority[..<colon]
      port = number
    }
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    guard !host.isEmpty, !host.contains("@") else { return nil }
    endpoint = Endpoint(host: String(host), port: port)
  }
}
