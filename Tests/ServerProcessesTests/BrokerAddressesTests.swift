import Testing

@testable import ServerProcesses

/// What the embedded broker's forwarder changes in what passes, and what not.
@Suite struct BrokerAddressesTests {
  private static let host = Array("127.0.0.1".utf8)
  /// 127.0.0.1 and port 40,361, as answers have them; then port 9,092.
  private static let real = host + [0, 0, 0x9D, 0xA9]
  private static let shown = host + [0, 0, 0x23, 0x84]

  private static func frame(_ bytes: [UInt8]) -> [UInt8] {
    [0, 0, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes
  }

  private static func request(kind: UInt8, number: UInt8) -> [UInt8] {
    frame([0, kind, 0, 1, 0, 0, 0, number, 0, 4] + Array("test".utf8))
  }

  private static func answer(number: UInt8, _ body: [UInt8]) -> [UInt8] {
    frame([0, 0, 0, number] + body)
  }

  /// Both streams in pieces of so many bytes.
  private func passed(_ requests: [UInt8], _ answers: [UInt8], pieces: Int) -> [UInt8] {
    var addresses = BrokerAddresses(host: "127.0.0.1", port: 40_361, shownAs: 9_092)
    var passed: [UInt8] = []
    for start in stride(from: 0, to: requests.count, by: pieces) {
      requests[start..<min(start + pieces, requests.count)].withUnsafeBytes { addresses.hear($0) }
    }
    for start in stride(from: 0, to: answers.count, by: pieces) {
      answers[start..<min(start + pieces, answers.count)].withUnsafeBytes {
        addresses.answer($0) { passed += $0 }
      }
    }
    return passed
  }

  @Test(arguments: [1, 2, 3, 7, 11, 12, 13, 1_000])
  func answersThatNameBrokersNameTheOther(pieces: Int) {
    let kinds: [(kind: UInt8, isAddress: Bool)] = [
      (18, false), (3, true), (1, false), (10, true), (0, false), (3, true),
    ]
    var requests: [UInt8] = []
    var answers: [UInt8] = []
    var expected: [UInt8] = []
    for (number, (kind, isAddress)) in kinds.enumerated() {
      let number = UInt8(number + 1)
      requests += Self.request(kind: kind, number: number)
      // A record may hold the same bytes, and stays what it is.
      answers += Self.answer(number: number, [7] + Self.real + [8] + Self.real)
      let address = isAddress ? Self.shown : Self.real
      expected += Self.answer(number: number, [7] + address + [8] + address)
    }
    #expect(passed(requests, answers, pieces: pieces) == expected)
  }

  @Test func answersOutOfTurnAndEmptyOnesPass() {
    let requests = Self.request(kind: 3, number: 1) + Self.request(kind: 3, number: 2)
    let answers =
      Self.answer(number: 9, Self.real) + Self.answer(number: 2, [])
      + Self.answer(number: 2, Self.real)
      + Self.answer(number: 1, Self.real)
    let expected =
      Self.answer(number: 9, Self.real) + Self.answer(number: 2, [])
      + Self.answer(number: 2, Self.real)
      + Self.answer(number: 1, Self.shown)
    #expect(passed(requests, answers, pieces: 5) == expected)
  }

  /// Who speaks something else is handed on all the same.
  @Test(arguments: [
    [UInt8]("GET / HTTP/1.1\r\n\r\n".utf8), [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  ])
  func whatIsNoFramePassesAsItIs(bytes: [UInt8]) {
    let noise = bytes + Self.real
    #expect(passed(noise, noise, pieces: 3) == noise)
    let announced = Self.request(kind: 3, number: 1)
    let short: [UInt8] = [0, 0, 0, 3, 0, 0, 0, 1] + Self.real
    #expect(passed(announced, short, pieces: 4) == short)
  }
}
