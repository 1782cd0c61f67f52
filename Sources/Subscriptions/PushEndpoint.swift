import Text

/// The rules for the URLs of subscriptions, which come from clients.
package struct EndpointRules: Sendable, Equatable {
  package enum Hosts: Sendable, Equatable {
    /// These names, and all below them.
    case suffixes([String])
    /// Any public name: for browsers and distributors with services of their own. The addresses
    /// behind a name must be checked (`AddressRules`).
    case open
  }

  /// The services of the browsers that there are: Chrome and what is made of it, Firefox, Safari,
  /// Edge.
  package static let browsers = [
    "fcm.googleapis.com", "jmt17.google.com", "push.services.mozilla.com", "push.apple.com",
    "notify.windows.com",
  ]

  package let hosts: Hosts
  /// Ports besides 443.
  package let ports: Set<Int>

  package init(hosts: Hosts = .suffixes(browsers), ports: Set<Int> = []) {
    self.hosts = hosts
    self.ports = ports
  }
}

/// The URL of a subscription's push resource (RFC 8030, section 2), read and checked. Whoever has
/// it may send to the subscription, so it is a secret: logs name its host alone.
package struct PushEndpoint: Sendable, Equatable {
  package enum Problem: Error, Sendable, Equatable, CustomStringConvertible {
    case tooLong, characters, scheme, userInformation, fragment, port, address, hostName, localName
    case path, unknownHost

    package var description: String {
      switch self {
      case .tooLong: "an endpoint has at most \(PushEndpoint.maximumBytes) bytes"
      case .characters: "the endpoint holds a character that a URL must not"
      case .scheme: "the endpoint must begin with https://"
      case .userInformation: "the endpoint must name no user"
      case .fragment: "the endpoint must have no fragment"
      case .port: "the endpoint's port is not allowed"
      case .address: "the endpoint's host must be a name, not an address"
      case .hostName: "the endpoint's host is not a domain name in lower case"
      case .localName: "the endpoint's host is a name of a local network"
      case .path: "the endpoint must have a path"
      case .unknownHost: "the endpoint's host is not one of the push services that are allowed"
      }
    }
  }

  package static let maximumBytes = 2048
  package static let scheme = Array("https://".utf8)

  package let host: String
  package let port: Int
  /// Path and query, byte for byte.
  package let target: String

  /// As `:authority` and endpoints name it.
  package var authority: String { port == 443 ? host : "\(host):\(port)" }

  /// The origin as VAPID tokens name it: the port is left out where it is that of HTTPS.
  package var origin: String { "https://" + authority }

  package init(_ text: String, rules: EndpointRules = EndpointRules()) throws(Problem) {
    let bytes = Array(text.utf8)
    guard bytes.count <= Self.maximumBytes else { throw .tooLong }
    guard bytes.starts(with: Self.scheme) else { throw .scheme }
    guard !bytes[Self.scheme.count...].starts(with: "[".utf8) else { throw .address }
    guard bytes.allSatisfy(Self.isURLCharacter) else { throw .characters }
    guard !bytes.contains(UInt8(ascii: "#")) else { throw .fragment }
    let start = Self.scheme.count
    let end = bytes[start...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
    let authority = bytes[start..<(end ?? bytes.count)]
    guard !authority.contains(UInt8(ascii: "@")) else { throw .userInformation }
    let hostEnd = authority.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
    host = String(decoding: authority[..<hostEnd], as: UTF8.self)
    try Self.checkName(authority[..<hostEnd])
    port = try Self.port(authority[hostEnd...], rules)
    guard let end, bytes[end] == UInt8(ascii: "/") else { throw .path }
    target = String(decoding: bytes[end...], as: UTF8.self)
    guard rules.allows(host) else { throw .unknownHost }
  }

  /// Whether a text has the form of an endpoint, whatever its host: one that was allowed once may
  /// be taken out.
  package static func isWritten(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.count <= maximumBytes, let end = bytes.withUnsafeBytes(pathOffset) else {
      return false
    }
    let host = bytes[scheme.count..<end]
    return !host.isEmpty
      && host.allSatisfy { $0.isASCIILower || $0.isASCIIDigit || ".-:".utf8.contains($0) }
  }

  /// RFC 3986, section 2, without the brackets, which stand around an address alone.
  private static func isURLCharacter(_ byte: UInt8) -> Bool {
    byte.isASCIIWord || marks.contains(byte)
  }

  private static let marks = Set("-._~!$&'()*+,;=:@/?%#".utf8)

  /// Names as browsers write them (WHATWG URL): in lower case.
  private static func checkName(_ name: ArraySlice<UInt8>) throws(Problem) {
    let labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard name.count <= 253,
      labels.allSatisfy({ label in
        (1...63).contains(label.count) && label.first != UInt8(ascii: "-")
          && label.last != UInt8(ascii: "-")
          && label.allSatisfy { $0.isASCIILower || $0.isASCIIDigit || $0 == UInt8(ascii: "-") }
      }), let last = labels.last
    else { throw .hostName }
    // Resolvers take a name that ends in a number for an address: 127.1, 2130706433, 0x7f000001.
    let isNumber =
      last.allSatisfy(\.isASCIIDigit)
      || (last.starts(with: "0x".utf8) && last.dropFirst(2).allSatisfy(\.isASCIIHexDigit))
    guard !isNumber else { throw .address }
    let isLocal = localNames.contains { Self.isOrEnds(name, with: $0) }
    guard labels.count > 1, !isLocal else { throw .localName }
  }

  /// Domains that exist in a local network alone (RFC 6761, 6762 and 8375; ICANN for `internal`).
  private static let localNames = ["local", "localhost", "internal", "home.arpa"]

  private static func port(
    _ text: ArraySlice<UInt8>, _ rules: EndpointRules
  ) throws(Problem) -> Int {
    guard !text.isEmpty else { return 443 }
    let digits = String(decoding: text.dropFirst(), as: UTF8.self)
    guard digits.utf8.allSatisfy(\.isASCIIDigit), let port = Int(digits), "\(port)" == digits,
      port == 443 || rules.ports.contains(port)
    else { throw .port }
    return port
  }

  package static func isOrEnds(
    _ name: some BidirectionalCollection<UInt8>, with suffix: String
  ) -> Bool {
    let tail = name.suffix(suffix.utf8.count)
    guard tail.elementsEqual(suffix.utf8) else { return false }
    let before = name.dropLast(suffix.utf8.count).last
    return before == nil || before == UInt8(ascii: ".")
  }

  /// Where the path begins in an endpoint that has been checked; nil for what is none. It is asked
  /// of each push, so it allocates nothing.
  package static func pathOffset(in endpoint: UnsafeRawBufferPointer) -> Int? {
    guard endpoint.starts(with: scheme) else { return nil }
    return endpoint[scheme.count...].firstIndex(of: UInt8(ascii: "/"))
  }
}

extension EndpointRules {
  fileprivate func allows(_ host: String) -> Bool {
    switch hosts {
    case .open: true
    case .suffixes(let suffixes):
      suffixes.contains { PushEndpoint.isOrEnds(Array(host.utf8), with: $0) }
    }
  }
}
