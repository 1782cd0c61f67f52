import Deliver
import JSON
import Text

/// From where access tokens come.
package enum TokenOrigin: Sendable {
  case account(ServiceAccount)
  /// The metadata server of Google's machines and clusters, by host and port: it knows their
  /// service account, and their project.
  case metadata(host: String)
  /// A file that holds a token, which others keep fresh.
  case file(path: String)
  /// A program that prints a token, such as `gcloud auth print-access-token`, and its arguments.
  case command([String])

  /// - Parameter now: ms since 1970.
  func request(now: Int64) throws(ServiceAccountError) -> TokenRequest {
    switch self {
    case .account(let account): return try account.tokenRequest(now: now)
    case .metadata(let host):
      return .http(.metadata("instance/service-accounts/default/token", of: host))
    case .file(let path): return .file(path: path)
    case .command(let words): return .command(words)
    }
  }
}

/// A question for an access token.
package enum TokenRequest: Sendable, Equatable {
  package struct HTTP: Sendable, Equatable {
    package struct Field: Sendable, Equatable {
      package let name: String
      package let value: String

      init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
      }
    }

    package let method: String
    package let url: String
    package let fields: [Field]
    package let body: [UInt8]

    /// The question for the id of the project that the machine belongs to; the answer is the id.
    /// - Parameter host: of the metadata server, with its port.
    package static func projectID(of host: String) -> HTTP {
      metadata("project/project-id", of: host)
    }

    /// Google, "View and query VM metadata". The field says that no browser was led there.
    fileprivate static func metadata(_ path: String, of host: String) -> HTTP {
      HTTP(
        method: "GET", url: "http://\(host)/computeMetadata/v1/\(path)",
        fields: [.init(metadataField, "Google")], body: [])
    }

    private static let metadataField = "metadata-flavor"

    /// Whether the answer is of a metadata server only if it has the same field.
    package var isForMetadata: Bool { fields.contains { $0.name == Self.metadataField } }
  }

  case http(HTTP)
  /// The content of the file.
  case file(path: String)
  /// The output of the program.
  case command([String])
}

/// What came back.
package enum TokenReply: Sendable, Equatable {
  /// - Parameter retryAfter: what the server asks for.
  case answer(status: Int, body: [UInt8], retryAfter: Duration?)
  /// Of a file or a program.
  case text([UInt8])
  /// Nothing, or not in time: why, for an operator.
  case failure(String)

  /// Of an answer, a file or an output. No reply is as long, so that more need not be read.
  package static let maximumBytes = 65_536
}

extension TokenReply {
  /// The use of a reply.
  package enum Use: Sendable, Equatable {
    case token, askAgain
    /// Somebody has to mend it.
    case needHelp
  }

  /// - Parameter now: ms since 1970.
  package func use(now: Int64) -> Use {
    switch TokenGrant(self, now: now) {
    case .token: .token
    case .failed: .askAgain
    case .refused: .needHelp
    }
  }
}

/// A reply as it is understood.
enum TokenGrant: Equatable {
  /// - Parameter lifetime: nil: nobody knows.
  case token(String, lifetime: Duration?)
  /// Asking again may help.
  case failed(String, retryAfter: Duration? = nil)
  /// Somebody has to mend it.
  case refused(String)

  /// Many times the longest known.
  private static let maximumTokenBytes = 8192
  /// Google's live an hour, those of other issuers half a day at most.
  private static let longest: Duration = .seconds(12 * 3600)

  /// - Parameter now: ms since 1970.
  init(_ reply: TokenReply, now: Int64) {
    switch reply {
    case .failure(let why): self = .failed(Self.shown(why))
    case .text(let bytes):
      let text = Self.trimmed(bytes)
      self = text.first == UInt8(ascii: "{") ? Self.granted(text, now) : Self.bearer(text, nil)
    case .answer(200, let body, _): self = Self.granted(body, now)
    case .answer(let status, let body, let retryAfter):
      self = Self.error(status, body, retryAfter)
    }
  }

  /// RFC 6749, section 5.1.
  private static func granted(_ body: [UInt8], _ now: Int64) -> TokenGrant {
    guard let members = object(body) else { return .failed("the reply is no JSON object") }
    guard let text = members["access_token"]?.string else {
      return .refused("the reply holds no access_token")
    }
    if let type = members["token_type"]?.string, !type.isSame(ignoringASCIICaseOf: "bearer") {
      return .refused("the token is of type \(shown(type)), and FCM takes bearer tokens")
    }
    guard let lifetime = lifetime(members, now) else { return bearer(Array(text.utf8), nil) }
    guard lifetime > .zero else { return .failed("the token has expired already") }
    return bearer(Array(text.utf8), min(lifetime, longest))
  }

  /// Programs that keep tokens write the time of the end (RFC 3339) as `expiry`, as Google's
  /// library for Go does.
  private static func lifetime(_ members: JSONObject, _ now: Int64) -> Duration? {
    if let seconds = members["expires_in"]?.wholeNumber {
      return .seconds(min(max(seconds, 0), longest.components.seconds))
    }
    return members["expiry"]?.string.flatMap { Timestamp.milliseconds($0) }
      .map { .milliseconds($0 - now) }
  }

  /// RFC 6750, section 2.1: what a bearer token is made of goes into a header as it is.
  private static func bearer(_ text: [UInt8], _ lifetime: Duration?) -> TokenGrant {
    guard (1...maximumTokenBytes).contains(text.count),
      text.allSatisfy({ $0.isASCIIWord || "-._~+/=".utf8.contains($0) })
    else { return .failed("what came is no access token") }
    return .token(String(decoding: text, as: UTF8.self), lifetime: lifetime)
  }

  /// RFC 6749, section 5.2: these say that the same question gets the same answer. Google's others
  /// (`internal_failure`, `server_error`, `temporarily_unavailable`) pass.
  private static let permanent: Set = [
    "invalid_grant", "invalid_scope", "invalid_client", "invalid_request", "unauthorized_client",
    "unsupported_grant_type",
  ]

  private static func error(
    _ status: Int, _ body: [UInt8], _ retryAfter: Duration?
  ) -> TokenGrant {
    let members = object(body)
    guard let code = members?["error"]?.string else {
      return .failed("status \(status)", retryAfter: retryAfter)
    }
    var words = shown(code)
    if let more = members?["error_description"]?.string { words += ": " + shown(more) }
    guard (400...499).contains(status), permanent.contains(code) else {
      return .failed(words, retryAfter: retryAfter)
    }
    return .refused(words)
  }

  private static func object(_ body: [UInt8]) -> JSONObject? {
    let value = try? JSONValue.parse(body, maximumBytes: TokenReply.maximumBytes, maximumDepth: 8)
    return value?.object
  }

  private static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
    func isText(_ byte: UInt8) -> Bool { byte != 0x20 && !(0x09...0x0D).contains(byte) }
    guard let first = bytes.firstIndex(where: isText), let last = bytes.lastIndex(where: isText)
    else { return [] }
    return Array(bytes[first...last])
  }

  /// Others' words for a line of a log.
  private static func shown(_ text: String) -> String {
    String(decoding: text.utf8.prefix(200).filter { (0x20...0x7E).contains($0) }, as: UTF8.self)
  }
}
