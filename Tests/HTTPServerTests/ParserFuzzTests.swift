import Testing
import Text

@testable import HTTPServer

/// Requests that are made up and broken at random, the same at each run.
@Suite struct ParserFuzzTests {
  @Test(arguments: 1...4) func whatIsTakenIsWhatTheRFCSays(seed: UInt64) {
    var maker = RequestMaker(seed: seed)
    var taken = 0
    for round in 0..<5_000 {
      let bytes = maker.bytes(mutations: round % 5)
      let whole = ParsedRequests([bytes])
      let expected = ReferenceReader.requests(bytes)
      let found = whole.whole.map {
        ReferenceReader.Request(method: $0.head.method, fields: $0.head.headers, body: $0.body)
      }
      #expect(found == expected, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
      taken += found.count
      // However it is cut, it says the same.
      let inBytes = ParsedRequests(bytes.map { [$0] })
      #expect(inBytes == whole)
      let cut = maker.cut(bytes)
      #expect(ParsedRequests(cut) == whole)
      guard found == expected, inBytes == whole else { return }
    }
    #expect(taken > 3_000, "most of what is tried is no request at all")
  }

  /// Nothing that comes traps.
  @Test func noiseIsRefused() {
    var maker = RequestMaker(seed: 5)
    for _ in 0..<20_000 {
      let found = ParsedRequests(maker.cut(maker.noise()))
      #expect(found.whole.isEmpty)
    }
  }
}

private struct RequestMaker {
  private var random: SplitMix64

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  private mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }
  private mutating func one<T>(_ of: [T]) -> T { of[below(of.count)] }

  /// One to three requests, broken in so many places.
  mutating func bytes(mutations: Int) -> [UInt8] {
    var bytes = (0...below(3)).flatMap { _ in Array(request().utf8) }
    for _ in 0..<mutations { mutate(&bytes) }
    return bytes
  }

  mutating func noise() -> [UInt8] {
    (0..<below(200)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  mutating func cut(_ bytes: [UInt8]) -> [[UInt8]] {
    var (pieces, rest) = ([[UInt8]](), bytes[...])
    while !rest.isEmpty {
      let count = min(rest.count, 1 + below(40))
      pieces.append(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return pieces
  }

  private mutating func request() -> String {
    var text = one(["", "", "", "\r\n"]) + one(["GET", "PUT", "DELETE", "M-x"]) + " "
    text += one(["/", "/v1/users/u", "/a?b=c&d", "/a//b"]) + " "
    text += one(["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0"]) + "\r\nHost: a\r\n"
    if below(8) == 0 { text += one(["Expect: 100-Continue\r\n", "Expect: b\r\n"]) }
    for _ in 0..<below(4) {
      text += one(["X-A", "x-b", "Accept", "Authorization", "Connection"]) + ":"
      text += one(["", " ", "\t"]) + one(["", "b", "close", "\u{E9}", "a,b", "a\tb"])
      text += one(["", " "]) + "\r\n"
    }
    let body = String(repeating: "b", count: below(20))
    switch below(4) {
    case 0: return text + "\r\n"
    case 1:
      let length = below(32) == 0 ? Int.max : body.utf8.count
      return text + "Content-Length: \(length)\r\n\r\n" + body
    case 2: return text + "Content-Length: 0\(body.utf8.count)\r\n\r\n" + body
    default: return text + "Transfer-Encoding: chunked\r\n\r\n" + chunks(body)
    }
  }

  private mutating func chunks(_ body: String) -> String {
    var (text, rest) = (below(32) == 0 ? "7FFFFFFFFFFFFFFF\r\n" : "", body[...])
    while !rest.isEmpty {
      let count = min(rest.count, 1 + below(12))
      text += one(["", "0"]) + String(count, radix: 16, uppercase: below(2) == 0)
      text += one(["", "", ";a", ";a=\"b c\""]) + "\r\n" + rest.prefix(count) + "\r\n"
      rest = rest.dropFirst(count)
    }
    return text + one(["0\r\n\r\n", "000\r\n\r\n", "0;x\r\n\r\n", "0\r\nX-T: 1\r\nY:\r\n\r\n"])
  }

  private mutating func mutate(_ bytes: inout [UInt8]) {
    guard !bytes.isEmpty else { return }
    let index = below(bytes.count)
    let odd = one(Array("\r\n\0 \t:;,-+xX0f/%#\"\u{7F}".utf8) + [0xC3, 0xFF, 0x0B])
    switch below(5) {
    case 0: bytes[index] = odd
    case 1: bytes.insert(odd, at: index)
    case 2: bytes.remove(at: index)
    case 3: bytes.insert(contentsOf: Array(one(["\r\n", "\n", "\r\n\r\n"]).utf8), at: index)
    default:
      let end = min(bytes.count, index + 1 + below(12))
      bytes.insert(contentsOf: bytes[index..<end], at: index)
    }
  }
}
