import Redis
import Testing

@testable import Checks

/// What INFO and PINGs say of a Redis. Other tests ask a real one.
@Suite struct RedisExaminationTests {
  private static let now: Int64 = 1_000_000_000

  private func items(_ information: String) -> [CheckItem] {
    var list = CheckList(deniesWarnings: false)
    RedisExamination(wallClock: { Self.now }).health(RedisInformation(information), "r", &list)
    return list.items
  }

  private func item(_ id: String, _ information: String) -> CheckItem? {
    items(information).first { $0.id == id }
  }

  @Test func aGoodRedisIsWell() {
    let all = items(
      """
      role:master
      connected_slaves:1
      slave0:ip=10.0.0.2,port=6379,state=online,offset=100,lag=1
      master_repl_offset:120
      aof_enabled:1
      aof_last_write_status:ok
      aof_last_bgrewrite_status:ok
      rdb_last_bgsave_status:ok
      rdb_last_save_time:999940
      maxmemory_policy:noeviction
      used_memory:1048576
      maxmemory:2097152
      evicted_keys:0
      connected_clients:5
      maxclients:100
      """)
    #expect(all.allSatisfy { $0.status == .ok }, "\(all)")
    #expect(
      all.map(\.id) == [
        "redis.role", "redis.persistence", "redis.eviction", "redis.memory", "redis.clients",
        "redis.replicas",
      ])
    #expect(all[0].message.contains("a master with 1 replica"))
    #expect(all[1].message.contains("the last RDB file is 1m old"))
    #expect(all[3].message.contains("1.0 MiB, 50 % of 2.0 MiB of maxmemory"))
    #expect(all[5].message.contains("10.0.0.2:6379") && all[5].message.contains("20 B behind"))
  }

  @Test func writesThatFailedAreAProblem() {
    for field in ["aof_last_write_status", "aof_last_bgrewrite_status", "rdb_last_bgsave_status"] {
      let found = item("redis.persistence", "aof_enabled:1\n\(field):err\n")
      #expect(found?.status == .problem && found?.message.contains(field) == true, "\(field)")
    }
    // What it does not append cannot fail; `check` warns of that.
    #expect(item("redis.persistence", "aof_enabled:0\naof_last_write_status:err\n") == nil)
  }

  @Test func memoryThatIsNearlyFullIsWarnedOf() {
    #expect(item("redis.memory", "used_memory:79\nmaxmemory:100\n")?.status == .ok)
    let full = item("redis.memory", "used_memory:80\nmaxmemory:100\n")
    #expect(full?.status == .warning && full?.message.contains("less than 80 %") == true)
    let machine = item("redis.memory", "used_memory:1\nmaxmemory:0\ntotal_system_memory:100\n")
    #expect(machine?.message.contains("1 % of 100 B of its machine's memory") == true)
    #expect(item("redis.evicted", "evicted_keys:3\n")?.status == .warning)
    #expect(item("redis.eviction", "maxmemory_policy:allkeys-lru\n") == nil)
  }

  @Test func connectionsThatRunOutAreWarnedOf() {
    #expect(item("redis.clients", "connected_clients:89\nmaxclients:100\n")?.status == .ok)
    #expect(item("redis.clients", "connected_clients:90\nmaxclients:100\n")?.status == .warning)
  }

  @Test func replicasThatDoNotFollowAreWarnedOf() {
    func replica(_ state: String, lag: Int) -> CheckItem.Status? {
      item(
        "redis.replicas",
        "connected_slaves:1\nslave0:ip=a,port=1,state=\(state),offset=0,lag=\(lag)\n")?.status
    }
    #expect(replica("online", lag: 10) == .ok)
    #expect(replica("online", lag: 11) == .warning)
    #expect(replica("wait_bgsave", lag: 0) == .warning)
  }

  /// Redis, or what stands for it, may say anything.
  @Test func nonsenseIsNoAnswer() {
    for text in [
      "", "connected_slaves:9223372036854775807\nslave0:x\n", "used_memory:-1\nmaxmemory:x\n",
      "connected_slaves:1\nslave0:offset=99999999999999999999,lag=\n",
    ] {
      #expect(items(text).allSatisfy { $0.status != .problem }, "\(text)")
    }
  }

  @Test func latencyIsOfTheMedianAndTheWorst() {
    func latency(_ milliseconds: [Int]) -> CheckItem? {
      var list = CheckList(deniesWarnings: false)
      RedisExamination(wallClock: { 0 }).latency(
        milliseconds.map { .milliseconds($0) }, "r", &list)
      return list.items.first
    }
    let good = latency([1, 5, 100])
    #expect(good?.status == .ok)
    #expect(good?.message.contains("1ms at least, 5ms in the median, 100ms at most") == true)
    #expect(latency([1, 6, 7])?.status == .warning)
    #expect(latency([1, 2, 101])?.status == .warning)
    #expect(latency([]) == nil)
  }
}
