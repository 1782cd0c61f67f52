import Testing

@testable import Redis

@Suite struct SlotTests {
  /// The check value of CRC-16/XMODEM, and slots that Redis' own documentation and CLUSTER KEYSLOT
  /// name.
  @Test func publishedVectors() {
    var check = "123456789"
    check.withUTF8 { #expect(RedisSlot.checksum(UnsafeRawBufferPointer($0)) == 0x31C3) }
    let slots = [
      "": 0, "foo": 12_182, "bar": 5_061, "hello": 866, "123456789": 12_739, "somekey": 11_058,
    ]
    for (key, slot) in slots { #expect(RedisSlot(key).number == slot, "\(key)") }
  }

  @Test func whatIsBracedDecides() {
    #expect(RedisSlot("{user1000}.following") == RedisSlot("{user1000}.followers"))
    #expect(RedisSlot("ffd:{u:1}:bound") == RedisSlot("u:1"))
    // Empty braces are no tag, nor is a brace that nothing closes; of two the first counts.
    #expect(RedisSlot("foo{}{bar}") == RedisSlot(Array("foo{}{bar}".utf8)))
    #expect(RedisSlot("foo{}{bar}") != RedisSlot("bar"))
    #expect(RedisSlot("foo{bar") != RedisSlot("bar"))
    #expect(RedisSlot("foo{{bar}}zap") == RedisSlot("{bar"))
    #expect(RedisSlot("foo{bar}{zap}") == RedisSlot("bar"))
    #expect(RedisSlot("}a{b}") == RedisSlot("b"))
  }
}

extension RedisSlot {
  fileprivate init(_ bytes: [UInt8]) { self = bytes.withUnsafeBytes { RedisSlot($0) } }
}

@Suite struct CommandScannerTests {
  private func scanned(_ commands: [String]...) throws -> [ScannedCommand] {
    let pipeline = RedisPipeline()
    for command in commands { pipeline.append(command) }
    return try #require(CommandScanner.commands(of: pipeline))
  }

  private func key(_ command: String...) throws -> Int? { try scanned(command)[0].slot }

  @Test func findsTheKey() throws {
    let slot = RedisSlot("k").number
    #expect(try key("GET", "k") == slot)
    #expect(try key("hset", "k", "field", "value") == slot)
    #expect(try key("EVALSHA", "digest", "1", "k", "argument") == slot)
    #expect(try key("evalsha", "digest", "2", "k", "l") == slot)
    #expect(try key("EVAL", "return 1", "0", "k") == nil)
    #expect(try key("OBJECT", "FREQ", "k") == slot)
    #expect(try key("SINTERCARD", "2", "k", "l") == slot)
    #expect(try key("XADD", "k", "*", "a", "b") == slot)
    #expect(try key("GET", "") == RedisSlot("").number)
    #expect(try key("DECREMENTALL", "k") == slot)
  }

  @Test(arguments: [
    ["PING"], ["SCRIPT", "LOAD", "return 1"], ["TIME"], ["ACL", "WHOAMI"], ["scan", "0"],
    ["INFO", "server"], ["CLUSTER", "SLOTS"],
  ])
  func someHaveNone(command: [String]) throws {
    #expect(try scanned(command)[0].slot == nil)
  }

  @Test func commandsWithoutAKeyGoWithTheirNeighbour() throws {
    let commands = try scanned(
      ["PING"], ["GET", "a"], ["INFO"], ["TIME"], ["GET", "b"], ["INFO"])
    let (a, b) = (RedisSlot("a").number, RedisSlot("b").number)
    #expect(commands.map(\.slot) == [a, a, a, a, b, b])
    #expect(commands.map(\.leader) == [1, 1, 1, 1, 4, 4])
  }

  @Test func bytesAreTheCommands() throws {
    let template = RedisCommandTemplate("SMEMBERS", key: (Array("{u:".utf8), Array("}".utf8)))
    let pipeline = RedisPipeline(["SET", "k", "a\r\nb"])
    Array("7".utf8).withUnsafeBytes { pipeline.append(template, $0) }
    let commands = try #require(CommandScanner.commands(of: pipeline))
    let copy = RedisPipeline()
    for command in commands { copy.append(commandOf: pipeline, at: command.bytes) }
    #expect(Array(copy.bytes) == Array(pipeline.bytes) && copy.count == 2)
    #expect(commands.map(\.slot) == [RedisSlot("k").number, RedisSlot("u:7").number])
  }
}
