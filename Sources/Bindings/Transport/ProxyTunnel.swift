/// What is said to a proxy before the server behind it hears anything: a pure machine.
package struct ProxyTunnel {
  /// Of its answer's head; a page that explains a refusal is not read.
  static let maximumHeadBytes = 16 * 1024

  private let proxy: HTTPProxy
  private let target: Endpoint
  private var head: [UInt8] = []

  package init(through proxy: HTTPProxy, to target: Endpoint) {
    self.proxy = proxy
    self.target = target
  }

  var request: [UInt8] {
    var lines = ["CONNECT \(target) HTTP/1.1", "Host: \(target)"]
    if let authorization = proxy.authorization {
      lines.append("Proxy-Authorization: \(authorization)")
    }
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  }

  /// - Returns: whether the way is open. What it answers is taken to the end of its head; nothing
  ///   may follow, since the server does not speak first.
  package mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(TransportError) -> Bool {
    head.append(contentsOf: bytes.prefix(Self.maximumHeadBytes + 1 - head.count))
    guard let end = Self.end(of: head) else {
      guard head.count <= Self.maximumHeadBytes else {
        throw refusal("answers with more than \(Self.maximumHeadBytes) bytes of header fields")
      }
      return false
    }
    let line = String(decoding: head.prefix { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self)
    let words = line.split(separator: " ", maxSplits: 2)
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3,
      let status = Int(words[1])
    else { throw refusal("does not speak HTTP") }
    guard (200..<300).contains(status) else { throw refusal(Self.words(status)) }
    guard head.count == end else { throw refusal("says more than it was asked") }
    return true
  }

  private func refusal(_ words: String) -> TransportError {
    TransportError(.proxy, "the proxy \(proxy.endpoint) \(words)")
  }

  private static func words(_ status: Int) -> String {
    switch status {
    case 403: "does not let us through to this host and port (403)"
    case 407: "wants a user's name and password, or others (407)"
    case 502, 503, 504: "cannot reach the server (\(status))"
    default: "answers \(status)"
    }
  }

  /// One past the empty line.
  private static func end(of head: [UInt8]) -> Int? {
    var lineFeeds = 0
    for (index, byte) in head.enumerated() {
      if byte == 0x0A {
        lineFeeds += 1
        if lineFeeds == 2 { return index + 1 }
      } else if byte != 0x0D {
        lineFeeds = 0
      }
    }
    return nil
  }
}
