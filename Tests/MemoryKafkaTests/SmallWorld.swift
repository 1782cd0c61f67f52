import Kafka
import MemoryKafka
import Text

/// Workers that read two topics and commit what they have read, while everything goes wrong that a
/// seed says.
@KafkaContract final class SmallWorld {
  private final class Worker {
    var host: MemoryHost
    var consumer: MemoryConsumer
    /// What it has read of the partitions that are its own.
    var read: [KafkaPartition: Int64] = [:]
    var isAsked = false

    init(host: MemoryHost, consumer: MemoryConsumer) {
      self.host = host
      self.consumer = consumer
    }
  }

  static let partitions = 5
  let broker: MemoryBroker
  private let time: ManualTime
  private var random: SplitMix64
  private var workers: [Worker] = []
  var trace: [String] { lines.all }
  private let lines = Lines()
  /// What somebody has read, or was told that nobody can.
  private(set) var seen: Set<String> = []
  private(set) var flaws: [String] = []
  private var restarts = 0

  init(seed: UInt64) {
    let time = ManualTime(seed: seed)
    self.time = time
    random = SplitMix64(seed: ~seed)
    broker = MemoryBroker(time.memoryTime)
    broker.delay = { _ in .microseconds(Int64(time.next() % 30_000)) }
    broker.create(topic: "a", partitions: Self.partitions)
    broker.create(topic: "b", partitions: 1)
    let lines = lines
    broker.trace = { lines.all.append("\(time.now / 1000) \($0)") }
    for number in 0..<3 { workers.append(newWorker(number)) }
  }

  deinit { broker.end() }

  private final class Lines { var all: [String] = [] }

  private func note(_ line: String) { lines.all.append("\(time.now / 1000) \(line)") }

  private func draw(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

  private func newWorker(_ number: Int) -> Worker {
    restarts += 1
    let host = broker.host("w\(number)#\(restarts)")
    var options = KafkaOptions(bootstrapServers: "memory")
    options.sessionTimeout = .seconds(6)
    // One of the three is a new member each time.
    options.staticMember = number == 0 ? nil : "w\(number)"
    let worker = Worker(host: host, consumer: host.consumer(options, topics: ["a", "b"]))
    worker.consumer.asksBeforeRevoke = true
    worker.consumer.offsetsToCommitOnRevoke = { [weak worker] _ in worker?.read ?? [:] }
    try? worker.consumer.subscribe()
    return worker
  }

  // MARK: life

  /// - Parameter hasFaults: afterwards all is well.
  func live(seconds: Int, hasFaults: Bool) {
    for tick in 0..<seconds * 10 {
      time.advance(by: .milliseconds(100))
      for (index, worker) in workers.enumerated() where !worker.host.isFrozen {
        work(worker, index)
        if tick % 2 == 0, !worker.read.isEmpty { worker.consumer.commit(worker.read) }
      }
      if hasFaults, draw(8) == 0 { write() }
      if hasFaults, draw(10) == 0 { fail() }
    }
  }

  private func write() {
    for _ in 0..<1 + draw(20) {
      let partition = draw(Self.partitions + 1)
      let source =
        partition == Self.partitions
        ? KafkaPartition(topic: "b", partition: 0)
        : KafkaPartition(topic: "a", partition: Int32(partition))
      if draw(10) == 0 {
        broker.appendControlRecord(to: source)
      } else {
        broker.append(MemoryRecord(key: nil, value: [1], timestamp: 0), to: source)
      }
    }
  }

  private func work(_ worker: Worker, _ index: Int) {
    if worker.isAsked, draw(5) == 0 {
      worker.isAsked = false
      worker.consumer.giveUpRevoked()
    }
    for _ in 0..<64 {
      guard let polled = worker.consumer.poll() else { return }
      note("w\(index) \(Self.line(polled))")
      switch polled {
      case .message(let message): read(message, worker)
      case .end(let partition, let end): worker.read[partition] = end
      case .skipped(let partition, let offsets):
        for offset in offsets { seen.insert("\(partition) \(offset)") }
      case .assigned(let partitions):
        for partition in partitions { worker.read[partition] = nil }
      case .revoking(let partitions):
        worker.consumer.pause(partitions)
        worker.isAsked = true
      case .revoked(let partitions), .lost(let partitions):
        worker.isAsked = false
        for partition in partitions { worker.read[partition] = nil }
      case .error(let error) where error.isFatal: return restart(worker, index)
      case .error, .committed, .commitFailed, .reachable: break
      }
    }
  }

  /// The same each time, which the description of a dictionary is not.
  private static func line(_ polled: KafkaPoll) -> String {
    switch polled {
    case .message(let message): "read \(message.source) \(message.offset)"
    case .committed(let offsets): "committed \(line(offsets))"
    case .commitFailed(let offsets, let error): "not committed \(line(offsets)) \(error.cause)"
    default: "\(polled)"
    }
  }

  private static func line(_ offsets: [KafkaPartition: Int64]) -> String {
    offsets.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
  }

  private func read(_ message: KafkaMessage, _ worker: Worker) {
    if let read = worker.read[message.source], message.offset < read {
      flaws.append("\(message.source) \(message.offset) comes after \(read)")
    }
    if !worker.consumer.assignment.contains(message.source) {
      flaws.append("\(message.source) is read and not assigned")
    }
    worker.read[message.source] = message.offset + 1
    seen.insert("\(message.source) \(message.offset)")
  }

  private func restart(_ worker: Worker, _ index: Int) {
    worker.consumer.close(timeout: .seconds(1))
    workers[index] = newWorker(index)
  }

  // MARK: faults

  private func fail() {
    let index = draw(workers.count)
    let worker = workers[index]
    let delay = Duration.milliseconds(100 + draw(9000))
    switch draw(11) {
    case 0:
      guard !worker.host.isFrozen else { return }
      worker.host.freeze()
      time.schedule(delay) { worker.host.thaw() }
    case 1:
      worker.host.crash()
      worker.host.endAbandoned()
      workers[index] = newWorker(index)
    case 2:
      worker.host.cut()
      time.schedule(delay) { worker.host.mend() }
    case 3:
      guard !broker.isAway else { return }
      broker.setAway(true, sessionsGoOn: draw(2) == 0)
      time.schedule(delay) { [broker] in broker.setAway(false) }
    case 4: broker.rebalance(group: "fanfare")
    case 5: broker.evict(host: worker.host.name, from: "fanfare")
    case 6: broker.fail(next: .commit, with: [Self.failures[draw(Self.failures.count)]])
    case 7: worker.host.breakConnections()
    case 8 where !worker.host.isFrozen: restart(worker, index)
    case 9: overtake()
    default: broker.fail(next: [.heartbeat, .join][draw(2)], with: [.coordinatorNotAvailable])
    }
    note("fault at w\(index)")
  }

  private static let failures: [MemoryFailure] = [
    .rebalanceInProgress, .illegalGeneration, .unknownMember, .coordinatorNotAvailable,
    .unanswered(isDone: true), .unanswered(isDone: false), .disconnect,
  ]

  private func overtake() {
    let partition = KafkaPartition(topic: "a", partition: Int32(draw(Self.partitions)))
    let (first, end) = (broker.first(of: partition) ?? 0, broker.end(of: partition) ?? 0)
    broker.deleteRecords(of: partition, before: first + Int64(draw(Int(end - first) + 1)))
  }

  // MARK: what must hold

  /// The group has read and committed all that there is, and each partition has one owner.
  var unsettled: [String] {
    var flaws = flaws
    let committed = broker.committed(by: "fanfare")
    var owned: [KafkaPartition] = []
    for worker in workers { owned += worker.consumer.assignment.sorted() }
    for partition in all {
      let end = broker.end(of: partition) ?? 0
      if committed[partition] ?? 0 != end {
        flaws.append("\(partition): \(committed[partition] ?? 0) of \(end) are committed")
      }
      if owned.count(where: { $0 == partition }) != 1 { flaws.append("\(partition) is not owned") }
      for (offset, _) in broker.records(of: partition)
      where !seen.contains("\(partition) \(offset)") {
        flaws.append("\(partition) \(offset) was never read")
      }
    }
    return flaws
  }

  private var all: [KafkaPartition] {
    (0..<Self.partitions).map { KafkaPartition(topic: "a", partition: Int32($0)) }
      + [KafkaPartition(topic: "b", partition: 0)]
  }
}
