import APNsSimulator
import Kafka
import MemoryKafka
import MemoryRedis
import Transport

/// What goes wrong in a life.
extension LifeRun {
  // MARK: Apple

  func begin(_ fault: ServiceFault, for duration: Duration) {
    if !changeWay(to: World.apple, fault, for: duration) { change(fault, for: duration) }
  }

  /// - Returns: false for a fault that is not one of the way to a push service.
  func changeWay(to endpoint: Endpoint, _ fault: ServiceFault, for duration: Duration) -> Bool {
    let network = world.network
    func path(_ change: @escaping (inout MemoryNetwork.Path, Bool) -> Void) {
      network.change(endpoint) { change(&$0, true) }
      later(duration) { network.change(endpoint) { change(&$0, false) } }
    }
    switch fault {
    case .refused: path { $0.isRefused = $1 }
    case .silent: path { $0.isSilent = $1 }
    case .cut: network.cut(endpoint)
    case .slow(let most):
      path { [usualWay] in $0.delay = $1 ? .milliseconds(1)...most : usualWay }
    case .pieces(let bytes): path { $0.largestPiece = $1 ? bytes : .max }
    default: return false
    }
    return true
  }

  private func change(_ fault: ServiceFault, for duration: Duration) {
    setScript { script in
      switch fault {
      case .mix(let text): script.mix = (try? SimulatorScript.mix(text)) ?? []
      case .goAway(let after, let behind):
        script.goAwayAfter = after
        script.goAwayBehind = behind
      case .streams(let limit): script.streams = limit
      case .window(let bytes): script.window = bytes
      case .dropAfter(let requests): script.dropAfter = requests
      case .latency(let latency):
        script.latency = latency
        script.jitter = latency / 2
      default: break
      }
    }
    later(duration) { [self] in
      setScript { script in
        switch fault {
        case .mix: script.mix = []
        case .goAway: script.goAwayAfter = nil
        case .streams: script.streams = plan.streams
        case .window: script.window = nil
        case .dropAfter: script.dropAfter = nil
        case .latency:
          script.latency = plan.appleThinks
          script.jitter = plan.appleThinks / 2
        default: break
        }
      }
    }
  }

  private func setScript(_ change: (inout SimulatorScript) -> Void) {
    change(&world.script)
    let script = world.script
    world.begin { _, world in await world.simulator.replaceScript(script) }
  }

  // MARK: Redis

  /// No replica is so far behind its master.
  private static let longestLag: Duration = .seconds(60)

  func begin(_ fault: RedisFault, for duration: Duration) {
    let (network, redis) = (world.network, world.redis)
    func path(_ change: @escaping (inout MemoryNetwork.Path, Bool) -> Void) {
      network.change(redis.endpoint) { change(&$0, true) }
      later(duration) { network.change(redis.endpoint) { change(&$0, false) } }
    }
    func server(_ change: @escaping (MemoryRedis, Bool) -> Void) {
      change(redis.server, true)
      later(duration) { change(redis.server, false) }
    }
    switch fault {
    case .refused:
      network.cut(redis.endpoint)
      path { $0.isRefused = $1 }
    case .silent: path { $0.isSilent = $1 }
    case .cut: network.cut(redis.endpoint)
    case .slow(let most):
      path { $0.delay = $1 ? .milliseconds(1)...most : MemoryNetwork.Path().delay }
    case .loading: server { $0.isLoading = $1 }
    case .readOnly: server { $0.store.isReplica = $1 }
    case .outOfMemory: server { $0.isOutOfMemory = $1 }
    case .losesReplies(let count): loseReplies(count)
    case .denies(let command):
      server { $0.users["default"] = MemoryRedis.User(denied: $1 ? [ByteString(command)] : []) }
    // Backends do not wait for a replica: nobody knows what they have lost where it is far behind.
    case .failOver(let lost):
      redis.failOver(losing: plan.waitsForReplicas ? 0 : lost)
      if lost > 0, !plan.waitsForReplicas {
        truth.doubtChanges(since: oracle.now &- min(oracle.now, Self.longestLag.nanoseconds))
      }
    }
  }

  private func loseReplies(_ count: Int) {
    var left = count
    let server = world.redis.server
    server.losesReply = { [weak server] command, _ in
      guard command.first.map({ $0.text.lowercased().hasPrefix("eval") }) == true else {
        return false
      }
      left -= 1
      if left <= 0 { server?.losesReply = nil }
      return true
    }
  }

  // MARK: Kafka

  func begin(_ fault: KafkaFault, for duration: Duration) {
    let broker = world.broker
    switch fault {
    case .away:
      broker.setAway(true)
      later(duration) { broker.setAway(false) }
    case .rebalance: broker.rebalance(group: World.group)
    case .cut(let number):
      guard let host = worker(number)?.host else { return }
      host.cut()
      later(duration) { host.mend() }
    case .evict(let number): broker.evict(host: "w\(number)", from: World.group)
    case .commitsRefused(let count):
      broker.fail(next: .commit, with: Array(repeating: .coordinatorNotAvailable, count: count))
    case .producesRefused(let count):
      broker.fail(next: .produce, with: Array(repeating: .notLeader, count: count))
    case .producesUnanswered(let count):
      broker.fail(
        next: .produce,
        with: (0..<count).map { .unanswered(isDone: $0 % 2 == 0) })
    case .retention(let topic, let kept): expire(world.workTopics[topic], butFor: kept)
    case .twice(let topic): repeatLast(of: world.workTopics[topic])
    case .controlRecords:
      for topic in world.workTopics {
        for partition in world.partitions(of: topic) { broker.appendControlRecord(to: partition) }
      }
    }
  }

  private func expire(_ topic: String, butFor kept: Int) {
    for partition in world.partitions(of: topic) {
      let end = world.broker.end(of: partition) ?? 0
      world.broker.deleteRecords(of: partition, before: end - Int64(kept))
    }
  }

  /// As a producer does whose answer was lost.
  private func repeatLast(of topic: String) {
    for partition in world.partitions(of: topic) {
      guard let last = world.broker.records(of: partition).last else { continue }
      world.broker.append(last.record, to: partition)
    }
  }
}
