import Testing

@testable import Redis

@Suite struct PipelineTests {
  func text(_ pipeline: RedisPipeline) -> String {
    String(decoding: pipeline.bytes, as: UTF8.self)
  }

  @Test func commandsAreWrittenAsRESP() {
    let pipeline = RedisPipeline(["GET", "ключ"], ["SET", "k", ""])
    #expect(
      text(pipeline)
        == "*2\r\n$3\r\nGET\r\n$8\r\nключ\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n")
    #expect(pipeline.count == 2)
    pipeline.removeAll()
    #expect(pipeline.count == 0 && pipeline.bytes.isEmpty)
  }

  @Test func argumentsMayHoldAnyByte() {
    let pipeline = RedisPipeline()
    let value: [UInt8] = [0, 13, 10, 255]
    Array("ECHO".utf8).withUnsafeBytes { name in
      value.withUnsafeBytes { pipeline.append(slices: [name, $0]) }
    }
    #expect(Array(pipeline.bytes) == Array("*2\r\n$4\r\nECHO\r\n$4\r\n".utf8) + value + [13, 10])
  }

  @Test(arguments: [[], ["locale", "name", "tz"]])
  func templatesWriteWhatPipelinesWrite(after: [String]) {
    let template = RedisCommandTemplate(
      "HMGET", key: (Array("ffd:{u:".utf8), Array("}:profile".utf8)), after: after)
    for user in ["", "u", "u1234567", "ユーザ", String(repeating: "x", count: 128)] {
      let hot = RedisPipeline()
      Array(user.utf8).withUnsafeBytes { hot.append(template, $0) }
      let plain = RedisPipeline(["HMGET", "ffd:{u:\(user)}:profile"] + after)
      #expect(text(hot) == text(plain))
      #expect(hot.count == 1)
    }
  }

  @Test func templatesKeepArgumentsBeforeTheKey() {
    let template = RedisCommandTemplate("OBJECT", "ENCODING", key: ([], []))
    let pipeline = RedisPipeline()
    Array("k".utf8).withUnsafeBytes { pipeline.append(template, $0) }
    #expect(text(pipeline) == text(RedisPipeline(["OBJECT", "ENCODING", "k"])))
  }

  @Test func manyCommandsGrowTheBuffer() {
    let template = RedisCommandTemplate("SMEMBERS", key: (Array("a".utf8), Array("b".utf8)))
    let hot = RedisPipeline(capacity: 1)
    let plain = RedisPipeline(capacity: 1)
    for user in 0..<2_000 {
      Array("\(user)".utf8).withUnsafeBytes { hot.append(template, $0) }
      plain.append("SMEMBERS", "a\(user)b")
    }
    #expect(text(hot) == text(plain) && hot.count == plain.count)
  }

  @Test func aCommandOfNothingIsRefused() {
    let pipeline = RedisPipeline([])
    #expect(pipeline.failure?.code == .invalidUse)
    #expect(pipeline.count == 0)
    pipeline.removeAll()
    #expect(pipeline.failure == nil)
  }
}

@Suite struct OptionsTests {
  @Test func printingShowsNoPassword() {
    let options = RedisOptions(host: "h", port: 1, username: "app", password: "canary", database: 2)
    #expect("\(options)" == "redis://app@h:1/2")
    #expect(!String(reflecting: options).contains("canary"))
  }
}
