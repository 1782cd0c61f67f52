import EventLoop
import Text
import Transport

/// A Redis Cluster for everybody on one loop: pipelines are divided by the nodes of their keys, and
/// answers gathered (`ClusterRouting`). Confined to its loop.
final class RedisCluster {
  private let options: RedisOptions
  private let nodes: ClusterNodes
  private let topology: ClusterTopology
  private let loop: EventLoop
  /// Parts that are sent again in a moment.
  private var pauses: [Int: Pause] = [:]
  private var pauseCount = 0
  private var isClosed = false

  private struct Pause {
    let timer: LoopTimer
    let part: ClusterRouting.Part
    let execution: ClusterExecution
  }

  /// `counts` are of all nodes together.
  init(
    options: RedisOptions, counting counts: RedisCounts, loop: EventLoop,
    log: @escaping (String) -> Void, random: @escaping () -> Double
  ) {
    self.options = options
    self.loop = loop
    let name = Self.name(options)
    nodes = ClusterNodes(
      of: name, options: options, counting: counts, loop: loop, log: log, random: random)
    topology = ClusterTopology(
      of: name, options: options, nodes: nodes, loop: loop, log: log, random: random)
    nodes.whenLost = { [weak topology] in topology?.isInDoubt() }
  }

  private static func name(_ options: RedisOptions) -> String {
    "Redis Cluster " + options.clusterNodes.map { "\($0)" }.joined(separator: ",")
  }

  func start() { topology.start() }

  /// Ends every pipeline with `closed`; those that were sent may have been done or not.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    topology.close()
    nodes.close()
    let paused = pauses.sorted { $0.key < $1.key }
    pauses = [:]
    for (_, pause) in paused {
      pause.timer.cancel()
      step(pause.execution, .failed(pause.part, closed))
    }
  }

  private var closed: RedisError {
    RedisError(.closed, "\(Self.name(options)): the client is closed")
  }

  func distrust(over why: String) { nodes.distrust(over: why) }

  /// Every slot is served, and no node that was needed is out of reach.
  var isConnected: Bool { !topology.map.isEmpty && lastFailure == nil }

  /// Why a part of the keys cannot be reached.
  var lastFailure: RedisError? { topology.lastFailure }

  /// Why commands would wait now; nil: nodes have answered.
  var obstacle: RedisError? { topology.obstacle }

  /// Nil before there is a map.
  var state: RedisClusterState? { topology.state }

  var masterCount: Int { topology.map.masters.count }

  /// No pipeline would end with an unknown outcome now.
  var hasNothingSent: Bool { pauses.isEmpty && nodes.hasNothingSent }

  /// Of each master that was needed.
  var replicas: [(master: String, replicas: [RedisReplica]?)] { nodes.replicas }

  // MARK: pipelines

  func execute(
    _ pipeline: RedisPipeline, timeout: Duration, maximumReplyBytes: Int, mayLag: Bool
  ) async throws(RedisError) -> RedisReplies {
    guard pipeline.count > 0 else { return RedisReplies(expecting: 0, maximumBytes: 0) }
    guard let commands = CommandScanner.commands(of: pipeline) else {
      throw RedisError(.invalidUse, "a pipeline holds what is no Redis command")
    }
    let deadline = loop.now &+ timeout.nanoseconds
    try await topology.waitForMap(timeout)
    let execution = ClusterExecution(
      pipeline, commands, timeout: timeout, deadline: deadline,
      maximumReplyBytes: maximumReplyBytes, mayLag: mayLag)
    await withCheckedContinuation { continuation in
      execution.whenFinished = { continuation.resume() }
      step(execution, .begin)
    }
    if let failure = execution.failure { throw failure }
    return execution.replies
  }

  private func step(_ execution: ClusterExecution, _ event: ClusterRouting.Event) {
    for action in topology.route(execution, event) {
      switch action {
      case .send(let part): send(part, of: execution)
      case .sendLater(let part, let pause):
        wait(pause, part, execution) { [weak self] in self?.send(part, of: execution) }
      case .divideLater(let part, let pause):
        wait(pause, part, execution) { [weak self] in self?.step(execution, .returned(part)) }
      case .refresh: topology.isInDoubt()
      case .finish(let failure): execution.finish(failure)
      }
    }
  }

  private func send(_ part: ClusterRouting.Part, of execution: ClusterExecution) {
    let remaining = execution.remaining(at: loop.now)
    // A part with little time left would take the whole connection with it when that is over.
    guard part.round == 0 || remaining > execution.timeout / 10 else {
      return step(execution, .outOfTime(part))
    }
    let connection: RedisConnection
    do throws(RedisError) {
      connection = try nodes.connection(to: part.node)
    } catch {
      return step(execution, .failed(part, error))
    }
    let replies = execution.replies(of: part)
    if part.mayLag, let replicas = connection.replicas {
      return read(part, of: execution, into: replies, from: replicas)
    }
    let sent = Execution(execution.pipeline(of: part), replies, timeout: remaining)
    sent.whenFinished = { [unowned sent] in
      if sent.isReturned {
        self.step(execution, .returned(part))
      } else if let failure = sent.failure {
        self.step(execution, .failed(part, failure))
      } else {
        self.step(execution, .answered(part, sent.replies))
      }
    }
    connection.submit(sent)
  }

  private func wait(
    _ pause: Duration, _ part: ClusterRouting.Part, _ execution: ClusterExecution,
    then body: @escaping () -> Void
  ) {
    guard !isClosed else { return step(execution, .failed(part, closed)) }
    guard pause < execution.remaining(at: loop.now) else {
      return step(execution, .outOfTime(part))
    }
    pauseCount += 1
    let id = pauseCount
    let timer = loop.schedule(after: pause) { [weak self] in
      if self?.pauses.removeValue(forKey: id) != nil { body() }
    }
    pauses[id] = Pause(timer: timer, part: part, execution: execution)
  }

  /// Reads that may lag, of one master's keys.
  private func read(
    _ part: ClusterRouting.Part, of execution: ClusterExecution, into replies: RedisReplies,
    from replicas: RedisReplicas
  ) {
    let timeout = execution.remaining(at: loop.now)
    replicas.read(execution.pipeline(of: part), replies, timeout: timeout) { answer in
      switch answer {
      case .whole(let missing): self.step(execution, .copied(part, replies, missing: missing))
      case .failed(let error): self.step(execution, .failed(part, error))
      case .none:
        // The master's answer may take as much.
        execution.allowance.giveBack(replies.byteCount)
        self.step(execution, .notCopied(part))
      }
    }
  }

  // MARK: nodes

  /// The pipeline at each master that serves slots; `timeout` is for all of them.
  func executeOnMasters(
    _ pipeline: RedisPipeline, timeout: Duration
  ) async throws(RedisError) -> [(master: RedisMaster, replies: RedisReplies)] {
    let begin = loop.now
    try await topology.waitForMap(timeout)
    let rest = timeout - .nanoseconds(Int64(clamping: loop.now &- begin))
    let masters = state?.masters.map(\.master) ?? []
    var sent: [Execution] = []
    var connections: [RedisConnection] = []
    for master in masters {
      let replies = RedisReplies(expecting: pipeline.count, maximumBytes: options.maximumReplyBytes)
      sent.append(Execution(pipeline, replies, timeout: rest))
      connections.append(try nodes.connection(to: master.endpoint))
    }
    await withCheckedContinuation { continuation in
      var open = sent.count
      if open == 0 { return continuation.resume() }
      for (connection, execution) in zip(connections, sent) {
        execution.whenFinished = {
          open -= 1
          if open == 0 { continuation.resume() }
        }
        connection.submit(execution)
      }
    }
    for execution in sent { if let failure = execution.failure { throw failure } }
    return zip(masters, sent).map { ($0, $1.replies) }
  }

  func execute(
    _ pipeline: RedisPipeline, timeout: Duration, maximumReplyBytes: Int, at node: Endpoint
  ) async throws(RedisError) -> RedisReplies {
    let connection = try nodes.connection(to: node)
    return try await connection.execute(
      pipeline, timeout: timeout, maximumReplyBytes: maximumReplyBytes)
  }
}
