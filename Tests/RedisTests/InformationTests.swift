import Testing

@testable import Redis

@Suite struct InformationTests {
  @Test func namesWhatAnswers() {
    let redis = RedisInformation("# Server\r\nredis_version:7.0.15\r\nos:Linux: x\r\n")
    #expect(redis.product == "Redis 7.0.15" && redis["os"] == "Linux: x")
    let valkey = RedisInformation(
      "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\n")
    #expect(valkey.product == "Valkey 9.1.2")
    #expect(RedisInformation("").product == "Redis of an unknown version")
  }
}
