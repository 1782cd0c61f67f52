import EventLoop
import Text
import Transport

/// A Redis Cluster for everybody on one loop: one connection to each master, made when it is first
/// needed, and the map that says which has what. Confined to its loop.
final class RedisCluster {
  let options: RedisOptions
  /// Of all nodes.
  let reads: ReplicaReads
  let loop: EventLoop
  let log: (String) -> Void
  let random: () -> Double
  var map = ClusterMap()
  var nodes: [Endpoint: RedisConnection] = [:]
  var refresh: ClusterRefresh
  var refreshTimer: LoopTimer?
  var inquiry: RedisInquiry<ClusterMap>?
  /// How often nodes were asked for the map: each time another one is the first.
  var inquiries = 0
  /// Why there is no map.
  var mapFailure: RedisError?
  /// As of the last map.
  var unserved: String?
  /// Who waits for a map.
  private var waiting = Queue<MapWait>()
  /// Parts that are sent again in a moment.
  private var pauses: [Int: Pause] = [:]
  private var pauseCount = 0
  private(set) var isClosed = false

  private struct Pause {
    let timer: LoopTimer
    let part: ClusterRouting.Part
    let execution: ClusterExecution
  }

  init(
    options: RedisOptions, counting reads: ReplicaReads, loop: EventLoop,
    log: @escaping (String) -> Void, random: @escaping () -> Double
  ) {
    self.options = options
    self.reads = reads
    self.loop = loop
    self.log = log
    self.random = random
    refresh = ClusterRefresh(
      minimum: options.reconnectMinimum, maximum: min(options.reconnectMaximum, .seconds(1)),
      interval: options.clusterInterval)
  }

  var name: String {
    "Redis Cluster " + options.clusterNodes.map { "\($0)" }.joined(separator: ",")
  }

  func start() { handle(.start) }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    handle(.close)
    inquiry?.cancel()
    inquiry = nil
    for connection in nodes.values { connection.close() }
    nodes = [:]
    let paused = pauses.values
    pauses = [:]
    for pause in paused {
      pause.timer.cancel()
      step(pause.execution, .failed(pause.part, closed))
    }
    for wait in waiting.takeAll() { wait.finish(closed) }
  }

  private var closed: RedisError { RedisError(.closed, "\(name): the client is closed") }

  func distrust(over why: String) {
    for connection in nodes.values { connection.distrust(over: why) }
  }

  // MARK: pipelines

  func execute(
    _ pipeline: RedisPipeline, timeout: Duration, maximumReplyBytes: Int, mayLag: Bool
  ) async throws(RedisError) -> RedisReplies {
    guard pipeline.count > 0 else { return RedisReplies(expecting: 0, maximumBytes: 0) }
    guard let commands = CommandScanner.commands(of: pipeline) else {
      throw RedisError(.invalidUse, "a pipeline holds what is no Redis command")
    }
    let deadline = loop.now &+ timeout.nanoseconds
    try await waitForMap(timeout)
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

  func step(_ execution: ClusterExecution, _ event: ClusterRouting.Event) {
    let anyone = anyMaster
    for action in execution.routing.handle(event, &map, anyone: anyone) {
      switch action {
      case .send(let part): send(part, of: execution)
      case .sendLater(let part, let pause):
        wait(pause, part, execution) { [weak self] in self?.send(part, of: execution) }
      case .divideLater(let part, let pause):
        wait(pause, part, execution) { [weak self] in self?.step(execution, .returned(part)) }
      case .refresh: handle(.wanted)
      case .finish(let failure): execution.finish(failure)
      }
    }
  }

  func send(_ part: ClusterRouting.Part, of execution: ClusterExecution) {
    let remaining = execution.remaining(at: loop.now)
    // What has little time left would take the whole connection with it when that is over.
    guard part.round == 0 || remaining > execution.timeout / 10 else {
      return step(execution, .outOfTime(part))
    }
    let connection: RedisConnection
    do throws(RedisError) {
      connection = try self.connection(to: part.node)
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

  // MARK: nodes

  private func connection(to node: Endpoint) throws(RedisError) -> RedisConnection {
    guard !isClosed else { throw closed }
    if let known = nodes[node] {
      if let refusal = known.refusal { throw refusal }
      return known
    }
    guard nodes.count < ClusterMap.maximumNodes else {
      throw RedisError(.unavailable, "\(name) has over \(ClusterMap.maximumNodes) nodes")
    }
    let connection = RedisConnection(
      options: options.at(node), purpose: .clusterNode, loop: loop, log: log, random: random)
    connection.whenLost = { [weak self] in self?.handle(.wanted) }
    connection.readFromReplicas(counting: reads)
    nodes[node] = connection
    connection.start()
    return connection
  }

  /// For commands without a key: a master that nothing is known against.
  private var anyMaster: Endpoint {
    map.masters.first { nodes[$0]?.isConnected == true }
      ?? map.masters.first { nodes[$0]?.lastFailure == nil }
      ?? map.masters.first ?? options.endpoint
  }

  func executeOnMasters(
    _ pipeline: RedisPipeline, timeout: Duration
  ) async throws(RedisError) -> [(master: RedisMaster, replies: RedisReplies)] {
    let begin = loop.now
    try await waitForMap(timeout)
    let rest = timeout - .nanoseconds(Int64(clamping: loop.now &- begin))
    let masters = state?.masters.map(\.master) ?? []
    var sent: [Execution] = []
    for master in masters {
      let replies = RedisReplies(
        expecting: pipeline.count, maximumBytes: options.maximumReplyBytes)
      sent.append(Execution(pipeline, replies, timeout: rest))
      _ = try connection(to: master.endpoint)
    }
    await withCheckedContinuation { continuation in
      var open = sent.count
      if open == 0 { return continuation.resume() }
      for (master, execution) in zip(masters, sent) {
        execution.whenFinished = {
          open -= 1
          if open == 0 { continuation.resume() }
        }
        nodes[master.endpoint]?.submit(execution)
      }
    }
    for execution in sent { if let failure = execution.failure { throw failure } }
    return zip(masters, sent).map { ($0, $1.replies) }
  }

  func execute(
    _ pipeline: RedisPipeline, timeout: Duration, maximumReplyBytes: Int, at node: Endpoint
  ) async throws(RedisError) -> RedisReplies {
    let connection = try connection(to: node)
    return try await connection.execute(
      pipeline, timeout: timeout, maximumReplyBytes: maximumReplyBytes)
  }

  // MARK: the map

  private final class MapWait {
    var timer: LoopTimer?
    private var continuation: CheckedContinuation<RedisError?, Never>?

    init(_ continuation: CheckedContinuation<RedisError?, Never>) {
      self.continuation = continuation
    }

    func finish(_ failure: RedisError?) {
      timer?.cancel()
      continuation?.resume(returning: failure)
      continuation = nil
    }
  }

  private func waitForMap(_ timeout: Duration) async throws(RedisError) {
    guard !isClosed else { throw closed }
    guard map.isEmpty else { return }
    guard waiting.count < options.maximumPipelines else {
      throw RedisError(.invalidUse, "\(options.maximumPipelines) Redis pipelines wait already")
    }
    let failure = await withCheckedContinuation { continuation in
      let wait = MapWait(continuation)
      wait.timer = loop.schedule(after: timeout) { [weak self, weak wait] in
        guard let self, let wait else { return }
        waiting.remove { $0 === wait }
        wait.finish(RedisError.unavailable(name, after: timeout, because: mapFailure))
      }
      waiting.append(wait)
    }
    if let failure { throw failure }
  }

  func wakeWaiting() {
    for wait in waiting.takeAll() { wait.finish(nil) }
  }

  var hasNothingSent: Bool {
    pauses.isEmpty && nodes.values.allSatisfy(\.hasNothingSent)
  }
}
