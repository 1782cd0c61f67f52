import Testing

@testable import Redis

@Suite struct GatheredRepliesTests {
  private func read(_ wire: String, _ count: Int, limit: Int = 1 << 20) throws -> RedisReplies {
    let reader = try RedisReplyReader()
    let replies = RedisReplies(expecting: count, maximumBytes: limit)
    reader.expect(replies)
    try Array(wire.utf8).withUnsafeBytes { try reader.receive($0) }
    return replies
  }

  @Test func piecesOfAStringAreAnArray() throws {
    let replies = try read("*2\r\n$-1\r\n$6\r\nabcdef\r\n", 1)
    let pieces: [Range<Int>?] = [0..<2, nil, 4..<6, 3..<3, 5..<7]
    let array = try #require(replies[0][1].array(count: 5) { pieces[$0] })
    #expect(array.kind == .array && array.count == 5)
    #expect((0..<5).map { array[$0].text } == ["ab", nil, "ef", "", nil])
    #expect(replies[0][0].array(count: 1) { _ in 0..<1 } == nil)
  }

  @Test func someElementsAreAnArray() throws {
    let replies = try read("*3\r\n$1\r\na\r\n$-1\r\n$1\r\nc\r\n:5\r\n", 2)
    let array = try #require(replies[0].array(selecting: [2, 0, 1, 9, -1]))
    #expect((0..<5).map { array[$0].text } == ["c", "a", nil, nil, nil])
    #expect(replies[1].array(selecting: [0]) == nil)
  }

  /// What is made counts as what was read.
  @Test func anArrayOverTheLimitIsNone() throws {
    let replies = try read("$3\r\nabc\r\n", 1, limit: 3 + 4 * RedisReplies.elementBytes)
    #expect(replies[0].array(count: 3) { _ in 0..<1 } != nil)
    #expect(replies[0].array(count: 1) { _ in 0..<1 } == nil)
  }

  @Test func repliesOfSeveralAreOne() throws {
    let one = try read("+A\r\n*2\r\n$1\r\nb\r\n$1\r\nc\r\n", 2)
    let other = try read("-ERR no\r\n", 1)
    var gathered = GatheredReplies(count: 5)
    gathered.set(0, to: other[0])
    gathered.set(1, to: one[1])
    gathered.set(2, to: one[1][1])
    gathered.set(4, to: one[0])
    gathered.set(4, to: other[0])
    let replies = RedisReplies(gathered)
    #expect(replies.count == 5 && replies[0].errorText == "ERR no")
    #expect(replies[1].count == 2 && replies[2].text == "c" && replies[3].isNull)
    #expect(replies[4].errorText == "ERR no")
    #expect(replies.firstError?.message == "ERR no")
  }
}
