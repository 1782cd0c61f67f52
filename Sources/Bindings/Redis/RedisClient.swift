import EventLoop

/// Redis for everybody on one loop, whether it is one server or a cluster: stages do not know.
/// Connects again by itself, with back-off.
///
/// Confined to its loop. Call `close` before letting it go.
package final class RedisClient {
  private enum Servers {
    case one(RedisConnection)
    case cluster(RedisCluster)
  }

  let options: RedisOptions
  private let loop: EventLoop
  private let servers: Servers
  /// For what is read in bulk: replies come in the order of the commands, and a short question must
  /// not wait for pages of a giant's followers.
  private let bulk: RedisClient?
  private let counts: RedisCounts
  /// The replies to SCRIPT LOAD, by source; a handful of scripts of our own.
  var scriptDigests: [RedisScript: String] = [:]
  /// Called when the commands of `execute` are answered, or will not be: how long that took, in
  /// nanoseconds, and why. Commands that Redis refuses for want of memory or permissions are
  /// answered, and reported as that error.
  package var whenDone: (UInt64, RedisError?) -> Void = { _, _ in }

  /// `log` gets a line whenever a connection breaks, cannot be made, or is back; no secrets in it.
  /// `random`: 0..<1, for the jitter of the back-off; nil: by the loop's numbers. `separatesBulk`:
  /// what is read in bulk has connections of its own.
  package convenience init(
    options: RedisOptions, loop: EventLoop, separatesBulk: Bool = false,
    log: @escaping (String) -> Void,
    random: (() -> Double)? = nil
  ) {
    let random = random ?? { loop.randomFraction() }
    let counts = RedisCounts()
    let bulk =
      separatesBulk
      ? RedisClient(
        options, loop, nil, counting: counts, { log("for large events: " + $0) }, random)
      : nil
    self.init(options, loop, bulk, counting: counts, log, random)
  }

  private init(
    _ options: RedisOptions, _ loop: EventLoop, _ bulk: RedisClient?,
    counting counts: RedisCounts, _ log: @escaping (String) -> Void,
    _ random: @escaping () -> Double
  ) {
    self.options = options
    self.loop = loop
    self.bulk = bulk
    self.counts = counts
    guard options.clusterNodes.isEmpty else {
      let cluster = RedisCluster(
        options: options, counting: counts, loop: loop, log: log, random: random)
      servers = .cluster(cluster)
      return
    }
    let connection = RedisConnection(
      options: options, purpose: .onlyServer, loop: loop, log: log, random: random)
    connection.prepareAsMaster(counting: counts)
    servers = .one(connection)
  }

  /// Of a cluster: every slot is served, and no node that was needed is out of reach.
  package var isConnected: Bool {
    switch servers {
    case .one(let connection): connection.isConnected
    case .cluster(let cluster): cluster.isConnected
    }
  }

  /// Why there is no connection, as long as there is none and one was tried, also of those for what
  /// is read in bulk; of a cluster, what keeps a part of the keys from us.
  package var lastFailure: RedisError? {
    switch servers {
    case .one(let connection): connection.lastFailure ?? bulk?.lastFailure
    case .cluster(let cluster): cluster.lastFailure ?? bulk?.lastFailure
    }
  }

  /// Why commands would wait now, also those for what is read in bulk; nil: Redis has answered, and
  /// nothing is known against it.
  package var obstacle: RedisError? {
    switch servers {
    case .one(let connection): connection.obstacle ?? bulk?.obstacle
    case .cluster(let cluster): cluster.obstacle ?? bulk?.obstacle
    }
  }

  /// Nothing is on its way but what is read in bulk: no write would end with an unknown outcome
  /// now.
  var hasNothingSent: Bool {
    switch servers {
    case .one(let connection): connection.hasNothingSent
    case .cluster(let cluster): cluster.hasNothingSent
    }
  }

  /// Begins to connect, and again after each loss, until `close`. Before it, pipelines wait.
  package func start() {
    bulk?.start()
    switch servers {
    case .one(let connection): connection.start()
    case .cluster(let cluster): cluster.start()
    }
  }

  /// Ends every pipeline with `closed`; those that were sent may have been done or not.
  package func close() {
    bulk?.close()
    switch servers {
    case .one(let connection): connection.close()
    case .cluster(let cluster): cluster.close()
    }
  }

  /// Sends the commands and returns when all replies are there. Without a connection it waits for
  /// one. An error that Redis answers to a command is that command's reply; thrown is what leaves
  /// commands without a reply: see `RedisError.Code`, and `isOutcomeUnknown` for whether they may
  /// have been done.
  ///
  /// ROLE goes out behind the commands: what a server answered that is not (or no longer) a master
  /// is never returned, but `connectionLost` thrown, and another connection is made.
  ///
  /// `timeout` (else `commandTimeout`) bounds all of it. When it passes after sending, the
  /// connection is given up, since later replies would wait behind the missing one. The replies
  /// may take `maximumReplyBytes` (else the options' limit); more is `replyTooLarge`.
  ///
  /// In a cluster each command goes to the node of its key, and commands without a key go where
  /// their neighbour goes. Commands on keys of one slot are done in their order, others in any
  /// order. One node that cannot be reached fails the pipelines that have keys there, as a whole.
  ///
  /// `mayLag`: these only read, and what was written within `replicaLagLimit` need not be seen.
  /// They go to replicas that are no further behind, in turns, and to the master with what those do
  /// not have, or when there is none that answers. Without the limit they go to the master.
  ///
  /// `isBulk`: nobody who asks without it waits for these replies.
  package func execute(
    _ pipeline: RedisPipeline, timeout: Duration? = nil, maximumReplyBytes: Int? = nil,
    mayLag: Bool = false, isBulk: Bool = false
  ) async throws(RedisError) -> RedisReplies {
    if let failure = pipeline.failure { throw failure }
    let client = isBulk ? bulk ?? self : self
    let began = loop.clock
    do {
      let replies = try await client.replies(
        to: pipeline, timeout: timeout ?? options.commandTimeout,
        maximumReplyBytes: min(maximumReplyBytes ?? .max, options.maximumReplyBytes),
        mayLag: mayLag)
      replies.nameWrongKeys(of: pipeline)
      let refusal = replies.refusal.map { RedisError($0, quotes: false) }
      whenDone(loop.clock &- began, refusal)
      return replies
    } catch {
      whenDone(loop.clock &- began, error)
      throw error
    }
  }

  private func replies(
    to pipeline: RedisPipeline, timeout: Duration, maximumReplyBytes limit: Int, mayLag: Bool
  ) async throws(RedisError) -> RedisReplies {
    switch servers {
    case .one(let connection):
      guard mayLag, let replicas = connection.replicas else {
        return try await connection.execute(pipeline, timeout: timeout, maximumReplyBytes: limit)
      }
      return try await replicas.read(pipeline, timeout: timeout, maximumReplyBytes: limit)
    case .cluster(let cluster):
      return try await cluster.execute(
        pipeline, timeout: timeout, maximumReplyBytes: limit, mayLag: mayLag)
    }
  }

  /// Other connections are made: on one came what answers nothing of ours, and the next replies may
  /// be another's, too.
  package func distrust(over why: String) {
    bulk?.distrust(over: why)
    switch servers {
    case .one(let connection): connection.distrust(over: why)
    case .cluster(let cluster): cluster.distrust(over: why)
    }
  }
}

// MARK: - each master

extension RedisClient {
  /// Sends the commands, which name no key, to every master, and returns what each answered: one
  /// Redis is its only master. SCAN goes on at the same one with `execute(_:at:)`; what is moved
  /// between two masters meanwhile may be told twice, or not at all.
  package func executeOnMasters(
    _ pipeline: RedisPipeline, timeout: Duration? = nil
  ) async throws(RedisError) -> [(master: RedisMaster, replies: RedisReplies)] {
    guard case .cluster(let cluster) = servers else {
      return [(RedisMaster(options.endpoint), try await execute(pipeline, timeout: timeout))]
    }
    if let failure = pipeline.failure { throw failure }
    return try await cluster.executeOnMasters(pipeline, timeout: timeout ?? options.commandTimeout)
  }

  /// As `execute`, at one of the masters that `executeOnMasters` named.
  package func execute(
    _ pipeline: RedisPipeline, at master: RedisMaster, timeout: Duration? = nil
  ) async throws(RedisError) -> RedisReplies {
    guard case .cluster(let cluster) = servers else {
      return try await execute(pipeline, timeout: timeout)
    }
    if let failure = pipeline.failure { throw failure }
    return try await cluster.execute(
      pipeline, timeout: timeout ?? options.commandTimeout,
      maximumReplyBytes: options.maximumReplyBytes, at: master.endpoint)
  }

  /// Masters among whom keys are divided; of a cluster that has not been asked yet none.
  package var masterCount: Int {
    guard case .cluster(let cluster) = servers else { return 1 }
    return cluster.masterCount
  }

  /// Which slots nobody serves, and who serves the others. Nil: this is one Redis, or the cluster
  /// has not been asked yet.
  package var clusterState: RedisClusterState? {
    guard case .cluster(let cluster) = servers else { return nil }
    return cluster.state
  }
}

// MARK: replicas

extension RedisClient {
  /// Connections to masters that were there and broke, those for what is read in bulk among them.
  package var brokenConnections: Int { counts.brokenConnections }

  /// Nil where reads do not go to replicas.
  package var replicaFigures: RedisReplicaFigures? {
    guard options.replicaLagLimit != nil else { return nil }
    switch servers {
    case .one(let connection):
      return RedisReplicaFigures(
        [(master: connection.options.name, replicas: connection.replicas?.state)], counts)
    case .cluster(let cluster): return RedisReplicaFigures(cluster.replicas, counts)
    }
  }
}
