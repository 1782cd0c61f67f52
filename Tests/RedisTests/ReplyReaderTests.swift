import Testing
import Text

@testable import Redis

@Suite struct ReplyReaderTests {
  /// Feeds `wire` in pieces of `size` to a reader that expects `count` replies.
  func read(
    _ wire: [UInt8], _ count: Int = 1, pieces size: Int = .max, limit: Int = 1 << 20
  ) throws -> RedisReplies {
    let reader = try RedisReplyReader()
    let replies = RedisReplies(expecting: count, maximumBytes: limit)
    reader.expect(replies)
    try feed(reader, wire, pieces: size)
    return replies
  }

  func feed(
    _ reader: RedisReplyReader, _ wire: [UInt8], pieces size: Int = .max
  ) throws {
    var start = 0
    while start < wire.count {
      let end = size < wire.count - start ? start + size : wire.count
      let piece = Array(wire[start..<end])
      try piece.withUnsafeBytes { try reader.receive($0) }
      start = end
    }
  }

  func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test(arguments: [1, 2, 7, .max])
  func everyKindAndNesting(pieces: Int) throws {
    let wire = bytes(
      "+OK\r\n-ERR bad\r\n:-42\r\n$5\r\nhe\r\no\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n"
        + "*3\r\n:1\r\n*2\r\n$1\r\na\r\n*1\r\n+x\r\n$1\r\nb\r\n")
    let replies = try read(wire, 9, pieces: pieces)
    #expect(replies.isComplete)
    #expect(replies[0].kind == .status && replies[0].text == "OK")
    #expect(replies[1].errorText == "ERR bad" && replies[1].bytes == nil)
    #expect(replies[2].integer == -42 && replies[2].decimal == -42)
    #expect(replies[3].text == "he\r\no" && replies[3].kind == .string)
    #expect(replies[4].text == "" && replies[4].kind == .string)
    #expect(replies[5].isNull && replies[6].isNull)
    #expect(replies[7].kind == .array && replies[7].count == 0)
    let array = replies[8]
    #expect(array.count == 3 && array[0].integer == 1 && array[2].text == "b")
    #expect(array[1].count == 2 && array[1][0].text == "a" && array[1][1][0].text == "x")
    #expect(replies.firstError?.message == "ERR bad")
  }

  @Test func anotherTypeThanAskedForIsNil() throws {
    let replies = try read(bytes("*2\r\n$2\r\n\u{7F}1\r\n:5\r\n+12\r\n"), 2)
    let array = replies[0]
    #expect(array.integer == nil && array.bytes == nil && array.text == nil)
    #expect(array.errorText == nil && array.decimal == nil && array.dictionary == [:])
    #expect(array[0].integer == nil && array[0].count == 0 && array[0][0].isNull)
    #expect(array[0].decimal == nil && replies[1].decimal == 12)
    #expect(array[1].text == nil && array[1].dictionary == nil)
    #expect(array[-1].isNull && array[2].isNull && array[2][0][0].isNull)
    #expect(replies[2].isNull && replies[-1].isNull && replies[.max].isNull)
  }

  @Test func textMustBeUTF8() throws {
    let replies = try read(bytes("$2\r\n") + [0xC3, 0x28] + bytes("\r\n"))
    #expect(replies[0].text == nil && replies[0].bytes?.count == 2)
  }

  @Test func pairsMakeADictionary() throws {
    let replies = try read(bytes("*5\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n:2\r\n$1\r\nc\r\n"))
    #expect(replies[0].dictionary == ["a": "1"])
  }

  @Test func elementsWithoutViews() throws {
    let replies = try read(bytes("*4\r\n$1\r\na\r\n$-1\r\n:7\r\n+s\r\n:1\r\n"), 2)
    var seen: [String] = []
    replies[0].forEachElement { position, kind, bytes in
      seen.append("\(position) \(kind) \(String(decoding: bytes, as: UTF8.self))")
    }
    #expect(seen == ["0 string a", "1 null ", "2 integer ", "3 status s"])
    replies[1].forEachElement { _, _, _ in Issue.record("no array") }
  }

  @Test func repliesGoToWhoAskedInOrder() throws {
    let reader = try RedisReplyReader()
    let first = RedisReplies(expecting: 2, maximumBytes: 100)
    let second = RedisReplies(expecting: 1, maximumBytes: 100)
    reader.expect(first)
    reader.expect(second)
    try feed(reader, bytes("+a\r\n+b\r\n+"))
    #expect(first.isComplete && !second.isComplete)
    #expect(second[0].isNull)
    try feed(reader, bytes("c\r\n"))
    #expect(second.isComplete && second[0].text == "c" && first[1].text == "b")
  }

  @Test(arguments: [4_095, 4_096, 70_000, 3_000_000])
  func longStringsArriveWhole(length: Int) throws {
    let text = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let wire =
      bytes("*2\r\n$\(length)\r\n") + text + bytes("\r\n$3\r\nend\r\n") + bytes("+after\r\n")
    for pieces in [1_000, 262_144] {
      let replies = try read(wire, 2, pieces: pieces, limit: 4_000_000)
      #expect(replies[0][0].bytes.map { Array($0) } == text)
      #expect(replies[0][1].text == "end" && replies[1].text == "after")
    }
  }

  @Test func manyElementsOfManyReplies() throws {
    var wire: [UInt8] = []
    for reply in 0..<3_000 {
      wire += bytes("*3\r\n$4\r\n\(1_000 + reply)\r\n$-1\r\n:\(reply)\r\n")
    }
    let replies = try read(wire, 3_000, pieces: 262_144)
    #expect(replies.isComplete)
    let isRight = (0..<3_000).allSatisfy { number in
      let reply = replies[number]
      return reply[0].text == "\(1_000 + number)" && reply[1].isNull
        && reply[2].integer == Int64(number) && reply[3].isNull
    }
    #expect(isRight)
  }

  @Test(arguments: [
    ("?\r\n", "no RESP"), ("hello\r\n", "no RESP"), ("$-2\r\n", "no RESP"),
    ("$x\r\n", "no RESP"), ("*-2\r\n", "no RESP"), ("*9999999999\r\n", "no RESP"),
    (":9223372036854775808\r\n", "no RESP"), (":1x\r\n", "no RESP"),
    ("*2147483647\r\n", "more than"), ("$99999999999\r\n", "more than"),
    ("$2000000\r\nx", "more than"), ("+a\r\n+b\r\n", "nobody asked"),
    ("$2000000\r\r\nx", "no RESP"),
    (String(repeating: "*1\r\n", count: 9), "no RESP"),
  ])
  func whatIsNoReplyIsAnError(wire: String, words: String) throws {
    for pieces in [1, .max] {
      let error = #expect(throws: RedisError.self) { try read(bytes(wire), pieces: pieces) }
      #expect(error?.code == (words == "more than" ? .replyTooLarge : .protocolError))
      #expect(error?.message.contains(words) == true, "\(String(describing: error))")
    }
  }

  /// Of a pipeline that several nodes answer, however they share it.
  @Test func severalRepliesHaveOneLimitTogether() throws {
    let allowance = ReplyAllowance(100)
    let wire = bytes("$60\r\n" + String(repeating: "x", count: 60) + "\r\n")
    func receive() throws -> RedisReplies {
      let reader = try RedisReplyReader()
      let replies = RedisReplies(expecting: 1, maximumBytes: 100, allowance: allowance)
      reader.expect(replies)
      try feed(reader, wire)
      return replies
    }
    #expect(try receive().isComplete)
    let error = #expect(throws: RedisError.self) { try receive() }
    #expect(error?.code == .replyTooLarge)
    #expect(allowance.admits(40) && !allowance.admits(1))
  }

  @Test func eightLevelsAreReadAndNoMore() throws {
    let deep = String(repeating: "*1\r\n", count: 8)
    var reply = try read(bytes(deep + ":5\r\n"))[0]
    for _ in 0..<8 { reply = reply[0] }
    #expect(reply.integer == 5)
    #expect(throws: RedisError.self) { try read(bytes(deep + "*1\r\n:5\r\n")) }
  }

  @Test func theLimitCountsAllRepliesOfAPipeline() throws {
    let wire = bytes(
      String(repeating: "$100\r\n\(String(repeating: "x", count: 100))\r\n", count: 10))
    #expect(try read(wire, 10, limit: 1_000).isComplete)
    let error = #expect(throws: RedisError.self) { try read(wire, 10, limit: 999) }
    #expect(error?.message.contains("999") == true)
    // Elements have their price too: nested arrays cannot reserve without end.
    let nested = bytes(String(repeating: "*50\r\n", count: 3))
    #expect(throws: RedisError.self) { try read(nested, limit: 1_600) }
  }

  @Test(arguments: ["+", "-", ":", "$", "*"])
  func aLineWithoutEndIsRefused(kind: String) throws {
    let wire = bytes(kind) + [UInt8](repeating: 0x31, count: 200_000)
    let error = #expect(throws: RedisError.self) { try read(wire, pieces: 1_000) }
    #expect(error?.code == .protocolError)
  }

  @Test func afterAnErrorNothingIsRead() throws {
    let reader = try RedisReplyReader()
    let first = RedisReplies(expecting: 1, maximumBytes: 100)
    let second = RedisReplies(expecting: 1, maximumBytes: 100)
    reader.expect(first)
    reader.expect(second)
    #expect(throws: RedisError.self) { try feed(reader, bytes("+ok\r\n?\r\n")) }
    #expect(first.isComplete && first[0].text == "ok")
    #expect(throws: RedisError.self) { try feed(reader, bytes("+ok\r\n")) }
    #expect(!second.isComplete)
  }

  @Test func anyBytesAtAllNeverTrap() throws {
    var generator = SplitMix64(seed: 7)
    let alphabet = bytes("*$+-:0123456789\r\n\r\n\r\nab") + [0, 255]
    for _ in 0..<3_000 {
      let wire = (0..<Int.random(in: 1...60, using: &generator)).map { _ in
        alphabet.randomElement(using: &generator) ?? 0
      }
      let reader = try RedisReplyReader()
      let replies = RedisReplies(expecting: 4, maximumBytes: 4_096)
      reader.expect(replies)
      // Whether it is an error does not matter here.
      try? feed(reader, wire, pieces: Int.random(in: 1...wire.count, using: &generator))
      for index in 0..<4 { _ = (replies[index].text, replies[index][0].text, replies[index].count) }
    }
  }
}
