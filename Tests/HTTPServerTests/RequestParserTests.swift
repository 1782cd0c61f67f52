import Testing

@testable import HTTPServer

/// What is a request and what is none, by RFC 9112.
@Suite struct RequestParserTests {
  @Test func aRequestIsReadWithItsFields() throws {
    let found = ParsedRequests(
      "\r\nPUT /a%20b/%2F/?x=1&y=%3D+z&w HTTP/1.1\r\nHost: a:80\r\nX-A: \t1 2\t \r\nx-a:3\r\n"
        + "Empty:\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n")
    #expect(found.refusal == nil && found.whole.count == 2)
    let first = try #require(found.whole.first)
    #expect(first.head.method == "PUT" && first.head.path == "/a b///")
    #expect(first.head.segments == ["a b", "/", ""])
    #expect(first.head.query.map(\.name) == ["x", "y", "w"])
    #expect(first.head.query.map(\.value) == ["1", "= z", nil])
    #expect(
      first.head.headers == ["host": "a:80", "x-a": "1 2, 3", "empty": "", "content-length": "3"])
    #expect(first.body == Array("abc".utf8) && first.head.keepsAlive)
    #expect(found.whole.last?.head.keepsAlive == false, "HTTP/1.0 ends with its answer")
  }

  @Test(arguments: [
    ("close", false), ("keep-alive, Close ", false), ("keep-alive", true), ("closed", true),
  ])
  func aConnectionEndsWhenItIsAsked(_ value: String, _ keepsAlive: Bool) {
    let found = ParsedRequests("GET / HTTP/1.1\r\nHost: a\r\nConnection: \(value)\r\n\r\n")
    #expect(found.whole.first?.head.keepsAlive == keepsAlive)
  }

  @Test func anAddressInAbsoluteFormNamesTheHost() {
    let found = ParsedRequests(
      "GET http://a:8080/b?c HTTP/1.1\r\nHost: A:8080\r\n\r\n"
        + "GET https://a?c HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(found.whole.map(\.head.path) == ["/b", "/"])
    #expect(found.whole.allSatisfy { $0.head.query.first?.name == "c" })
  }

  @Test func chunksAreJoinedAndTheirExtrasReadPast() {
    let found = ParsedRequests(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
        + "3;a=\"b\";c\r\nabc\r\n00A\r\n0123456789\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\n"
        + "GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(found.whole.first?.body == Array("abc0123456789".utf8))
    #expect(found.whole.last?.head.path == "/next")
  }

  /// Lines of a head between the request line and its end.
  @Test(arguments: [
    "", "Host: a\r\nHost: a", "Host: a, b", "Host: a/b", "Host: u@a", "Host: a\r\n: x",
    "Host: a\r\n x: y", "Host: a\r\n\tx", "Host: a\r\nX : y", "Host: a\r\nX\t: y", "Host: a\r\nX",
    "Host: a\r\nX(y): z", "Host: a\r\nX: \u{0}", "Host: a\r\nX: \u{1}y", "Host: a\r\nX: \u{7F}",
    "Host: a\r\nX\u{0}: y", "Host: a\r\n\u{E9}: y", "Host: a\nX: y", "Host: a\r\n\nX: y",
    "Host: a\rX: y", "Host: a\r\r\nX: y", "Host: a\u{B}", "Host: a\r\nExpect: more",
    "Host: a\r\nContent-Length: +1", "Host: a\r\nContent-Length: -1",
    "Host: a\r\nContent-Length: 0x1", "Host: a\r\nContent-Length: ",
    "Host: a\r\nContent-Length: 1 1", "Host: a\r\nContent-Length: 1, 1",
    "Host: a\r\nContent-Length: 99999999999999999999",
    "Host: a\r\nContent-Length: 0\r\nContent-Length: 0",
    "Host: a\r\nContent-Length: 0\r\nTransfer-Encoding: chunked",
    "Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "Host: a\r\nTransfer-Encoding: gzip, chunked", "Host: a\r\nTransfer-Encoding: chunked, chunked",
    "Host: a\r\nTransfer-Encoding: identity", "Host: a\r\nTransfer-Encoding: \"chunked\"",
    "Host: a\r\nTransfer-Encoding: chunked;q=1", "Host: a\r\nTransfer-Encoding: \u{B}chunked",
    "Host: a\r\nTransfer-Encoding: xchunked", "Host: a\r\nTransfer-Encoding:",
    // The Kelvin sign, which is a k in lower case.
    "Host: a\r\nTransfer-Encoding: chun\u{212A}ed",
    "Host: a\r\nAuthorization: a\r\nAuthorization: b",
  ])
  func aHeadThatOthersMayReadOtherwiseIsRefused(lines: String) {
    let found = ParsedRequests(
      "GET / HTTP/1.1\r\n" + lines + "\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(found.whole.isEmpty && found.refusal?.status == 400, "\(found)")
  }

  @Test(arguments: [
    "GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1", "GET\t/ HTTP/1.1",
    "GET / http/1.1", "GET / HTTP/1.2", "GET / HTTP/2.0", "GET / HTTP/0.9", "GET / HTTP/1.10",
    "GET / HTTP/01.1", "G(T / HTTP/1.1", " / HTTP/1.1", "GET a HTTP/1.1", "GET * HTTP/1.1",
    "OPTIONS * HTTP/1.1", "CONNECT a:1 HTTP/1.1", "GET /a b HTTP/1.1", "GET /\u{0} HTTP/1.1",
    "GET /v1/users/u\u{0}/devices/t HTTP/1.1", "GET /%00 HTTP/1.1", "GET /a#b HTTP/1.1",
    "GET /a\\b HTTP/1.1", "GET /\u{E9} HTTP/1.1", "GET /a\u{7F} HTTP/1.1", "GET //a@b/\"c HTTP/1.1",
    "GET http://b/ HTTP/1.1", "GET http:///a HTTP/1.1", "GET http://u@a/ HTTP/1.1",
    "GET ftp://a/ HTTP/1.1", "PRI * HTTP/2.0", "\u{16}\u{3}\u{1}", "GET / HTTP/1.1\n",
    "\r\n\r\nGET / HTTP/1.1",
  ])
  func aRequestLineThatIsNoneIsRefused(line: String) {
    let found = ParsedRequests(line + "\r\nHost: a\r\n\r\n")
    #expect(found.whole.isEmpty && found.refusal?.status == 400, "\(found)")
  }

  @Test func theOldVersionHasNoChunks() {
    let found = ParsedRequests("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
    #expect(found.whole.isEmpty && found.refusal?.status == 400)
  }

  @Test(arguments: [
    "\r\n", ";\r\n", "g\r\n", "+3\r\nabc\r\n", "-3\r\nabc\r\n", "0x3\r\nabc\r\n", " 3\r\nabc\r\n",
    "3 \r\nabc\r\n", "3 ;a\r\nabc\r\n", "3\nabc\r\n", "3\r\nabc\n", "3\r\nabcd\r\n", "3\r\nab\r\n0",
    "3;\u{0}\r\nabc\r\n", "3;\nabc\r\n", "3;a\rb\r\nabc\r\n", "3\rabc\r\n",
    "8000000000000000\r\n", "FFFFFFFFFFFFFFFF\r\n", "10000000000000003\r\nabc\r\n",
    "00000000000000003\r\nabc\r\n", "3\r\nabc\r\r\n", "0\r\n\n", "0\r\n: x\r\n\r\n",
    "0\r\n x: y\r\n\r\n", "0\r\nX : y\r\n\r\n", "0\r\nX: y\n\r\n", "0\r\nX\r\n\r\n",
    "0\r\nX: \u{0}\r\n\r\n", "0\r\n\rX",
  ])
  func chunksThatOthersMayReadOtherwiseAreRefused(body: String) {
    let found = ParsedRequests(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body
        + "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(found.whole.isEmpty && found.refusal?.status == 400, "\(found)")
  }

  /// Whatever has no end of its own has a bound.
  @Test func whatHasNoEndIsRefused() {
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    func refusal(_ text: String) -> Int? { ParsedRequests(text).refusal?.status }
    #expect(refusal("GET /" + String(repeating: "a", count: 5_000)) == 431)
    #expect(refusal("GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 5_000)) == 431)
    #expect(refusal("GET / HTTP/1.1\r\n" + String(repeating: "a:\r\n", count: 101)) == 431)
    #expect(refusal(chunked + String(repeating: "0", count: 20)) == 400)
    #expect(refusal(chunked + "1;" + String(repeating: "a", count: 300)) == 400)
    let extended = String(repeating: "1;aaaaaaaaaaaaaaaaaaaa\r\nb\r\n", count: 20)
    #expect(refusal(chunked + extended) == 400, "of all chunks together")
    #expect(refusal(chunked + "0\r\nX: " + String(repeating: "a", count: 2_000)) == 400)
    #expect(refusal(chunked + "0\r\n" + String(repeating: "X: a\r\n", count: 400)) == 400)
  }

  /// The end of such a body lies beyond what `Int` counts from the start of the bytes.
  @Test(arguments: [
    "Transfer-Encoding: chunked\r\n\r\n7FFFFFFFFFFFFFFF\r\n",
    "Content-Length: 9223372036854775807\r\n\r\n",
  ])
  func theLargestBodyIsReadAsItComes(text: String) {
    let head = Array("POST / HTTP/1.1\r\nHost: a\r\n\(text)".utf8)
    var parser = HTTPRequestParser(maximumHeadBytes: 4096)
    (head + Array("abc".utf8)).withUnsafeBytes { bytes in
      var offset = 0
      guard case .head = parser.next(bytes, from: &offset) else {
        Issue.record("the head is refused")
        return
      }
      #expect(parser.next(bytes, from: &offset) == .body(head.count..<head.count + 3))
      #expect(parser.next(bytes, from: &offset) == .incomplete)
    }
  }

  @Test(arguments: ["", "Content-Length: 0\r\n"])
  func aRequestWithoutABodyEndsWithItsHead(field: String) {
    var parser = HTTPRequestParser(maximumHeadBytes: 4096)
    Array("GET / HTTP/1.1\r\nHost: a\r\n\(field)\r\n".utf8).withUnsafeBytes { bytes in
      var offset = 0
      guard case .head = parser.next(bytes, from: &offset) else {
        Issue.record("the head is refused")
        return
      }
      #expect(parser.isBetweenRequests)
      #expect(parser.next(bytes, from: &offset) == .incomplete)
    }
  }

  /// A head may be as long as it may be, and no byte longer.
  @Test func theBoundOfAHeadIsExact() {
    let head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    #expect(ParsedRequests(head, maximumHeadBytes: head.utf8.count).whole.count == 1)
    #expect(ParsedRequests(head, maximumHeadBytes: head.utf8.count - 1).refusal?.status == 431)
  }
}
