import EventLoop
import Fixtures
import Keyspace
import Redis
import ServerProcesses
import Testing

@testable import Expand

/// How long the pages are that the masters of a cluster share.
@Suite struct ClusterPageTests {
  private static let users =
    (0..<400).map { "u\($0)" }.filter { Keyspace.shard(of: $0, shards: 2) == 0 }.prefix(100)

  @Test func pagesOfLargeEventsGrowWithTheMasters() async throws {
    let cluster = try RedisClusterProcess(
      hasReplicas: false, options: RedisClusterProcess.slowFailOver)
    let loop = EventLoop(name: "cluster")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let redis = RedisClient(
        options: RedisOptions(clusterNodes: cluster.endpoints, commandTimeout: .seconds(60)),
        loop: loop, log: { _ in })
      redis.start()
      defer { redis.close() }
      try await redis.place(Array(Self.users), shards: 2)
      #expect(redis.masterCount == 3)
      let options = ExpandOptions(pageSize: 10)
      let large = try await redis.read(shard(0, of: 2), options: options).reading
      #expect(large.pageSizes == [34, 33, 33])
      // A small event waits for no more than is configured.
      let small = try await redis.read(shard(0, of: 1), options: options).reading
      #expect(small.pageSizes.max() == 10 && small.followers == 100)
    }
  }
}
