import Testing
import Transport

@testable import Redis

/// Replies as a server would have written them.
func replies(_ wire: String, _ count: Int = 1) throws -> RedisReplies {
  let reader = try RedisReplyReader()
  let replies = RedisReplies(expecting: count, maximumBytes: 1 << 24)
  reader.expect(replies)
  try Array(wire.utf8).withUnsafeBytes { try reader.receive($0) }
  return replies
}

@Suite struct ClusterMapTests {
  private let asked = Endpoint(host: "seed", port: 7000)

  private func text(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }

  private func entry(_ first: Int, _ last: Int, _ host: String, _ port: Int) -> String {
    "*4\r\n:\(first)\r\n:\(last)\r\n*4\r\n\(text(host)):\(port)\r\n\(text("id"))*0\r\n"
      + "*4\r\n\(text("replica")):1\r\n\(text("id"))*0\r\n"
  }

  private func map(_ entries: String...) throws -> ClusterMap {
    let wire = "*\(entries.count)\r\n" + entries.joined()
    return try ClusterMap(slots: replies(wire)[0], from: asked)
  }

  @Test func readsWhoHasWhat() throws {
    let map = try map(
      entry(0, 99, "10.0.0.1", 6379), entry(200, 16_383, "10.0.0.2", 6380),
      entry(100, 150, "10.0.0.1", 6379))
    #expect(
      map.masters == [Endpoint(host: "10.0.0.1", port: 6379), .init(host: "10.0.0.2", port: 6380)])
    #expect(map.master(of: 0) == 0 && map.master(of: 150) == 0 && map.master(of: 200) == 1)
    #expect(map.master(of: 151) == nil)
    #expect(map.unserved == [151...199])
    #expect(map.slotCounts == [151, 16_184])
  }

  /// No host, an empty one: who was asked. `?`: the address in the details.
  @Test(arguments: [
    ("$-1\r\n:7001\r\n$2\r\nid\r\n*0\r\n", "seed:7001"),
    ("$0\r\n\r\n:7001\r\n$2\r\nid\r\n*0\r\n", "seed:7001"),
    ("$1\r\n?\r\n:7001\r\n$2\r\nid\r\n*0\r\n", "seed:7001"),
    ("$1\r\n?\r\n:7001\r\n$2\r\nid\r\n*2\r\n$2\r\nip\r\n$8\r\n10.0.0.9\r\n", "10.0.0.9:7001"),
    ("$3\r\n::1\r\n:7001\r\n$2\r\nid\r\n*0\r\n", "[::1]:7001"),
  ])
  func odderHosts(node: String, is expected: String) throws {
    let map = try map("*3\r\n:0\r\n:16383\r\n*4\r\n\(node)")
    #expect(map.masters.map { "\($0)" } == [expected] && map.unserved.isEmpty)
  }

  @Test(arguments: [
    "*1\r\n*3\r\n:-1\r\n:5\r\n*2\r\n$1\r\nh\r\n:1\r\n",
    "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\nh\r\n:1\r\n",
    "*1\r\n*3\r\n:5\r\n:4\r\n*2\r\n$1\r\nh\r\n:1\r\n",
    "*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n$1\r\nh\r\n:0\r\n",
    "*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n:1\r\n:1\r\n", "*1\r\n*2\r\n:0\r\n:5\r\n", "*1\r\n:1\r\n",
    "+OK\r\n",
  ])
  func oddAnswersAreNoMap(wire: String) throws {
    let reply = try replies(wire)
    #expect(throws: RedisError.self) { try ClusterMap(slots: reply[0], from: asked) }
  }

  @Test func refusalsSayWhatToDo() throws {
    func code(_ wire: String) throws -> RedisError.Code? {
      let reply = try replies(wire)
      do throws(RedisError) {
        _ = try ClusterMap(slots: reply[0], from: asked)
        return nil
      } catch {
        return error.code
      }
    }
    #expect(try code("-ERR This instance has cluster support disabled\r\n") == .refused)
    #expect(try code("-NOPERM no\r\n") == .authentication)
    #expect(try code("-LOADING wait\r\n") == .loading)
    #expect(try code("*0\r\n") == .loading)
  }

  @Test func oneSlotIsMended() throws {
    var map = try map(entry(0, 16_383, "a", 1))
    map.move(5, to: Endpoint(host: "b", port: 2))
    #expect(map.master(of: 5) == 1 && map.master(of: 4) == 0 && map.masters.count == 2)
    map.move(5, to: Endpoint(host: "a", port: 1))
    #expect(map.master(of: 5) == 0 && map.masters.count == 2)
    map.move(16_384, to: Endpoint(host: "c", port: 3))
    #expect(map.masters.count == 2)
  }

  @Test func thereIsABoundOfNodes() throws {
    let entries = (0..<1_000).map { entry($0, $0, "n\($0)", 1) }
    var map = try ClusterMap(
      slots: replies("*1000\r\n" + entries.joined())[0], from: asked)
    map.move(5_000, to: Endpoint(host: "more", port: 1))
    #expect(map.masters.count == 1_000 && map.master(of: 5_000) == nil)
    let more = try replies("*1001\r\n" + entries.joined() + entry(1_000, 1_000, "more", 1))
    #expect(throws: RedisError.self) { try ClusterMap(slots: more[0], from: asked) }
  }
}

@Suite struct ClusterRedirectTests {
  private let here = Endpoint(host: "here", port: 1)

  private func redirect(_ text: String) -> ClusterRedirect? {
    ClusterRedirect(RedisErrorReply(text), from: here)
  }

  @Test func readsWhereTo() {
    let there = Endpoint(host: "127.0.0.1", port: 6381)
    #expect(redirect("MOVED 3999 127.0.0.1:6381") == .moved(slot: 3999, to: there))
    #expect(redirect("ASK 3999 127.0.0.1:6381") == .ask(there))
    #expect(redirect("MOVED 1 ::1:7") == .moved(slot: 1, to: Endpoint(host: "::1", port: 7)))
    #expect(redirect("MOVED 1 :7") == .moved(slot: 1, to: Endpoint(host: "here", port: 7)))
    #expect(redirect("MOVED 1 ?:7") == .moved(slot: 1, to: nil))
    #expect(redirect("ASK 1 ?:7") == .ask(nil))
    #expect(redirect("TRYAGAIN Multiple keys request during rehashing of slot") == .tryAgain)
  }

  @Test(arguments: [
    "MOVED", "MOVED 1", "MOVED x h:1", "MOVED 16384 h:1", "MOVED -1 h:1", "MOVED 1 h", "ASK 1 h:0",
    "MOVED 1 h:65536", "ERR no", "CLUSTERDOWN Hash slot not served", "NOSCRIPT no",
  ])
  func othersAreNone(text: String) { #expect(redirect(text) == nil) }
}
