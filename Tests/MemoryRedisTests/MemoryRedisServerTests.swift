import Testing

@testable import MemoryRedis

@Suite struct MemoryRedisServerTests {
  private let server = MemoryRedis()
  private static let now: Int64 = 1_795_726_985_000_000

  private func ask(
    _ session: MemoryRedisSession, _ text: String, after microseconds: Int64 = 0
  ) -> String {
    let words = text.split(separator: " ").map { ByteString(String($0)) }
    var bytes: [UInt8] = []
    StoreReply.strings(words).write(to: &bytes)
    return String(
      decoding: session.receive(bytes, now: Self.now + microseconds), as: UTF8.self)
  }

  @Test func commandsComeInAnyPieces() {
    let session = server.open()
    var bytes: [UInt8] = []
    for command: [ByteString] in [["SET", "k", "a\r\nb"], ["GET", "k"], ["PING"]] {
      StoreReply.strings(command).write(to: &bytes)
    }
    let answers = bytes.flatMap { session.receive([$0], now: Self.now) }
    #expect(String(decoding: answers, as: UTF8.self) == "+OK\r\n$4\r\na\r\nb\r\n+PONG\r\n")
  }

  @Test func whatIsNoRESPEndsTheSession() {
    let session = server.open()
    let answer = session.receive(Array("*1\r\n+PING\r\n".utf8), now: Self.now)
    #expect(
      String(decoding: answer, as: UTF8.self)
        == "-ERR Protocol error: expected '$', got '+'\r\n")
    #expect(session.isClosed)
  }

  @Test func passwordsAreAsked() {
    server.users["default"] = MemoryRedis.User(password: "secret")
    server.users["worker"] = MemoryRedis.User(password: "other", denied: ["time", "script|load"])
    let session = server.open()
    #expect(ask(session, "PING") == "-NOAUTH Authentication required.\r\n")
    #expect(ask(session, "AUTH wrong").hasPrefix("-WRONGPASS "))
    #expect(ask(session, "AUTH worker other") == "+OK\r\n")
    #expect(
      ask(session, "TIME")
        == "-NOPERM this user has no permissions to run the 'time' command\r\n")
    #expect(
      ask(session, "SCRIPT LOAD return")
        == "-NOPERM this user has no permissions to run the 'script|load' command\r\n")
    #expect(ask(session, "SCRIPT EXISTS a") == "*1\r\n:0\r\n")
  }

  @Test func aServerThatLoadsSaysSo() {
    let session = server.open()
    server.isLoading = true
    #expect(ask(session, "PING") == "-LOADING Redis is loading the dataset in memory\r\n")
    #expect(ask(session, "ROLE").hasPrefix("*3\r\n$6\r\nmaster"))
    server.isLoading = false
    #expect(ask(session, "PING") == "+PONG\r\n")
  }

  @Test func tooManyClientsAreRefused() {
    server.maximumClients = 1
    let first = server.open()
    let second = server.open()
    #expect(ask(second, "PING") == "-ERR max number of clients reached\r\n")
    #expect(second.isClosed)
    first.close()
    #expect(ask(server.open(), "PING") == "+PONG\r\n")
  }

  @Test func aLostReplyLeavesWhatWasDone() {
    let session = server.open()
    server.losesReply = { command, _ in command[0] == "INCR" }
    #expect(ask(session, "INCR n") == "")
    #expect(session.isClosed)
    #expect(ask(server.open(), "GET n") == "$1\r\n1\r\n")
  }

  // MARK: replicas

  @Test func aFailOverLosesWhatWasNotDelivered() {
    let replica = MemoryRedis(port: 6380, seed: 2)
    let session = server.open()
    _ = ask(session, "SET before 1")
    let link = server.replicate(to: replica)
    _ = ask(session, "SET a 1")
    _ = ask(session, "SET b 1")
    #expect(link.lag == 2)
    #expect(link.deliver(1, now: Self.now) == 1)
    let reader = replica.open()
    #expect(ask(reader, "MGET before a b") == "*3\r\n$1\r\n1\r\n$1\r\n1\r\n$-1\r\n")
    #expect(
      ask(reader, "SET c 1") == "-READONLY You can't write against a read only replica.\r\n")
    #expect(ask(reader, "ROLE").contains("slave"))
    replica.promote(seed: 3)
    #expect(link.deliver(now: Self.now) == 0)
    #expect(ask(reader, "SET c 1") == "+OK\r\n")
    #expect(ask(reader, "EXISTS b") == ":0\r\n")
    #expect(server.replicationIdentifier != replica.replicationIdentifier)
    // The old master comes back as a replica, without what it alone had.
    _ = replica.replicate(to: server)
    #expect(ask(session, "EXISTS b c") == ":1\r\n")
  }

  /// A script's writes come whole.
  @Test func aScriptIsOneGroup() {
    let replica = MemoryRedis(port: 6380, seed: 2)
    let link = server.replicate(to: replica)
    let session = server.open()
    var bytes: [UInt8] = []
    let script: ByteString = """
      redis.call('SADD', 's', 'a') redis.call('EXPIRE', 's', 5) return redis.call('INCR', 'n')
      """
    StoreReply.strings(["EVAL", script, "0"]).write(to: &bytes)
    #expect(String(decoding: session.receive(bytes, now: Self.now), as: UTF8.self) == ":1\r\n")
    #expect(link.lag == 1)
    link.deliver(now: Self.now + 1_000_000)
    #expect(ask(replica.open(), "PTTL s", after: 1_000_000) == ":4000\r\n")
    #expect(link.acknowledged == server.offset)
  }

  @Test func waitIsAnsweredWhenTheReplicaHasIt() {
    let link = server.replicate(to: MemoryRedis(port: 6380, seed: 2))
    let session = server.open()
    var ready = 0
    session.whenReady = { ready += 1 }
    _ = ask(session, "SET a 1")
    #expect(ask(session, "WAIT 1 100") == "")
    #expect(session.deadline == Self.now + 100_000)
    #expect(ask(session, "PING") == "")
    link.deliver(now: Self.now + 10)
    #expect(ready == 1)
    let answer = session.resume(now: Self.now + 10)
    #expect(String(decoding: answer, as: UTF8.self) == ":1\r\n+PONG\r\n")
  }

  @Test func waitEndsWithItsTime() {
    let link = server.replicate(to: MemoryRedis(port: 6380, seed: 2))
    link.isUp = false
    let session = server.open()
    _ = ask(session, "SET a 1")
    #expect(ask(session, "WAIT 1 100") == "")
    #expect(session.resume(now: Self.now + 99_999) == [])
    let answer = session.resume(now: Self.now + 100_000)
    #expect(String(decoding: answer, as: UTF8.self) == ":0\r\n")
  }

  @Test func aRestartHasAnOlderImage() {
    let session = server.open()
    _ = ask(session, "SET a 1")
    _ = ask(session, "SCRIPT LOAD return")
    let image = server.store.image
    _ = ask(session, "SET b 1")
    let run = server.runIdentifier
    server.restart(from: image, seed: 9)
    #expect(session.isClosed)
    #expect(server.runIdentifier != run)
    let other = server.open()
    #expect(ask(other, "EXISTS a b") == ":1\r\n")
    #expect(
      ask(other, "EVALSHA 63143b6f8007b98c53ca2149822777b3566f9241 0").hasPrefix("-NOSCRIPT"))
  }

  @Test func informationNamesReplicas() {
    let link = server.replicate(to: MemoryRedis(port: 6380, seed: 2))
    let text = ask(server.open(), "INFO replication")
    #expect(text.contains("role:master\r\nconnected_slaves:1\r\n"))
    #expect(
      text.contains(
        "slave0:ip=127.0.0.1,port=6380,state=online,offset=\(link.acknowledged),lag=0\r\n"))
    #expect(!text.contains("# Server"))
  }
}
