import Testing

@testable import Redis

@Suite struct GatheredRepliesTests {
  private func read(_ wire: String, _ count: Int) throws -> RedisReplies {
    let reader = try RedisReplyReader()
    let replies = RedisReplies(expecting: count, maximumBytes: 1 << 20)
    reader.expect(replies)
    try Array(wire.utf8).withUnsafeBytes { try reader.receive($0) }
    return replies
  }

  @Test func repliesOfSeveralAreOne() throws {
    let one = try read("+A\r\n*2\r\n$1\r\nb\r\n$1\r\nc\r\n", 2)
    let other = try read("-ERR no\r\n", 1)
    var gathered = GatheredReplies(count: 4)
    let (first, second) = (gathered.add(one), gathered.add(other))
    gathered.set(0, to: 0, of: second)
    gathered.set(1, to: 1, of: first)
    gathered.set(3, to: 0, of: first)
    gathered.set(3, to: 0, of: second)
    let replies = RedisReplies(gathered)
    #expect(replies.count == 4 && replies[0].errorText == "ERR no")
    #expect(replies[1].count == 2 && replies[1][1].text == "c" && replies[2].isNull)
    #expect(replies[3].errorText == "ERR no")
    #expect(replies.firstError?.message == "ERR no")
  }
}
