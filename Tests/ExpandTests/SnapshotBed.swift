import EventLoop
import Keyspace
import Model
import Redis
import ServerProcesses
import Testing
import Transport

@testable import Expand

/// Lanes that keep snapshots, on one loop; of one Redis or of a cluster.
final class SnapshotBed {
  /// What a lane of a worker has of it.
  final class Lane {
    let redis: RedisClient
    let stage: ExpandStage
    let log: Log
    let loop: EventLoop

    init(redis: RedisClient, stage: ExpandStage, log: Log, loop: EventLoop) {
      self.loop = loop
      self.redis = redis
      self.stage = stage
      self.log = log
    }
  }

  final class Log { var lines: [String] = [] }

  private let loop: EventLoop
  private let options: RedisOptions
  private var lanes: [Lane] = []
  let users: [String]

  private init(_ loop: EventLoop, _ options: RedisOptions, users: Int) {
    self.loop = loop
    self.options = options
    self.users = (0..<4 * users).map { "u\($0)" }
      .filter { Keyspace.shard(of: $0, shards: 2) == 0 }.prefix(users).map { $0 }
  }

  static func options(port: Int) -> RedisOptions { options(RedisOptions(port: port)) }

  static func options(_ cluster: RedisClusterProcess) -> RedisOptions {
    options(RedisOptions(clusterNodes: cluster.endpoints))
  }

  private static func options(_ start: RedisOptions) -> RedisOptions {
    var options = start
    options.commandTimeout = .seconds(60)
    options.reconnectMinimum = .milliseconds(5)
    options.reconnectMaximum = .milliseconds(50)
    options.trackingInterval = .milliseconds(5)
    return options
  }

  /// Runs `body` with users who have a device and a name each, and closes what it opened.
  static func run(
    _ options: RedisOptions, users: Int = 40,
    _ body: @Sendable (SnapshotBed) async throws -> Void
  ) async throws {
    let loop = EventLoop(name: "snapshots")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let bed = SnapshotBed(loop, options, users: users)
      defer { for lane in bed.lanes { lane.redis.close() } }
      let first = bed.lane(keepsSnapshots: false)
      try await first.redis.place(bed.users, shards: 2)
      try await first.redis.equip(bed.users)
      try await first.redis.commands(
        bed.users.map { ["HSET", keyspace.profile(user: $0), "name", "Name of \($0)"] })
      try await body(bed)
    }
  }

  func lane(
    keepsSnapshots: Bool = true, pageSize: Int = 512,
    _ change: (inout RedisOptions) -> Void = { _ in }
  ) -> Lane {
    var options = options
    change(&options)
    let log = Log()
    let redis = RedisClient(options: options, loop: loop, log: { log.lines.append($0) })
    let stage = ExpandStage(
      redis: redis, keyspace: keyspace,
      options: ExpandOptions(pageSize: pageSize, keepsSnapshots: keepsSnapshots),
      report: { log.lines.append($0) })
    redis.start()
    let lane = Lane(redis: redis, stage: stage, log: log, loop: loop)
    lanes.append(lane)
    return lane
  }

  /// A lane that trusts what is there, on so many servers.
  func trustingLane(servers: Int = 1) async throws -> Lane {
    let lane = lane()
    // Nodes of a cluster are connected to when they are first needed.
    if servers > 1 { _ = try await lane.read() }
    try await lane.until("it trusts snapshots") { $0.trustedServers == servers }
    return lane
  }
}

extension SnapshotBed.Lane {
  var figures: SnapshotFigures { stage.snapshotFigures ?? SnapshotFigures() }

  /// Looks again and again, for a minute.
  func until(
    _ what: String, _ condition: (SnapshotFigures) async throws -> Bool
  ) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while try await !condition(figures) {
      try #require(
        ContinuousClock.now < deadline,
        "waited a minute until \(what): \(figures), \(log.lines)")
      await loop.wait(.milliseconds(2))
    }
  }

  /// The users of a segment, of a large event's unless it says otherwise, as they would be sent to.
  func read(
    _ segment: Segment = shard(0, of: 2), fields: [String] = ["name"]
  ) async throws -> Reading {
    let reader = stage.reader(of: stage.users(of: segment), fields: fields, topic: app)
    var reading = Reading()
    while let page = try await reader.next() {
      reading.add(page)
      reading.passedOver += reader.takeSkippedUsers().map(\.user)
    }
    return reading
  }

  /// Reads until everybody comes from a snapshot.
  func warm(_ count: Int, fields: [String] = ["name"]) async throws {
    try await until("everybody has a snapshot") { _ in
      try await hits(fields: fields) == count
    }
  }

  /// How many come from snapshots when all are read now.
  func hits(fields: [String] = ["name"]) async throws -> Int {
    let before = figures.hits
    _ = try await read(fields: fields)
    return figures.hits - before
  }
}
