import Kafka

/// A member of a group of a `MemoryBroker`: it says and does what `KafkaConsumer` does on
/// librdkafka, which has threads of its own where this has timers of its host. No call takes time:
/// `poll` does not wait, and what is waited for elsewhere has its answer at once.
package final class MemoryConsumer: GroupConsumer {
  /// What librdkafka's queue would hold: `poll` serves it in order.
  enum Event {
    case assign([KafkaPartition])
    case revoke
    case message(KafkaMessage)
    case end(KafkaPartition, Int64)
    case connectionLost
    case statistics
    case other(KafkaPoll)
  }

  /// Where the consumer is with its group. All but the first two are parts of a rebalance.
  enum Membership { case outside, steady, joining, assigning, revoking }

  package let host: MemoryHost
  let options: KafkaOptions
  let topics: [String]
  let coordinator: MemoryLink
  let fetcher: MemoryLink

  package var offsetsToCommitOnRevoke: (([KafkaPartition]) -> [KafkaPartition: Int64])?
  package var asksBeforeRevoke = false
  package internal(set) var assignment: Set<KafkaPartition> = []
  package internal(set) var paused: Set<KafkaPartition> = []
  private var waker: ConsumerWaker?
  var isClosed = false
  /// What happened inside a call and was not yet returned by `poll`.
  var recorded: [KafkaPoll] = []
  var queue: [Event] = []
  var positions = ReadPositions()
  var isConnected = false
  private var isReachable: Bool?
  /// What the group waits for.
  var revoking: [KafkaPartition] = []
  var lags: [KafkaPartition: Int64] = [:]
  private var isAskingLag = false

  // Of the membership.
  var membership = Membership.outside
  var isSubscribed = false
  var isFenced = false
  var leavesWhenUnassigned = false
  /// The group has moved on without us.
  var isLost = false
  var joins = 0
  var member = ""
  var generation = -1
  var groupAssignment: [KafkaPartition] = []
  var isBeating = false
  var hasTimers = false
  /// After this the group has given our partitions to others.
  var sessionEnd: UInt64 = .max
  var lastPoll: UInt64 = 0
  var hasPolledTooLate = false
  /// Partitions of each topic when it was looked at last.
  var metadata: [String: Int] = [:]
  var missingTopics: Set<String> = []
  /// Commits that wait for the coordinator, and until when.
  var deferred: [(offsets: [KafkaPartition: Int64], until: UInt64)] = []

  // Of the reading.
  var readings: [KafkaPartition: PartitionReading] = [:]
  var isFetching = false
  var parkedFetch: Int?
  /// Changes of what is to be fetched.
  var changes = 0
  var lastEpoch = 0
  var fetches = 0

  var broker: MemoryBroker { host.broker }
  var now: UInt64 { broker.time.now() }
  var group: MemoryGroup { broker.group(options.group) }

  init(_ host: MemoryHost, _ options: KafkaOptions, topics: [String]) {
    self.host = host
    self.options = options
    self.topics = topics
    coordinator = MemoryLink(host)
    fetcher = MemoryLink(host)
    repeats(every: options.reachabilityInterval) { $0.enqueue(.statistics) }
  }

  /// Until the consumer is closed.
  func repeats(every interval: Duration, _ body: @escaping (MemoryConsumer) -> Void) {
    host.schedule(after: interval) { [weak self] in
      guard let self, !isClosed else { return }
      body(self)
      repeats(every: interval, body)
    }
  }

  // MARK: poll

  /// The next thing that happened, in order. Does not wait.
  package func poll(timeout: Duration = .zero) -> KafkaPoll? {
    if let earlier = takeRecorded() { return earlier }
    guard !isClosed else { return nil }
    hasPolled()
    guard let polled = next() else { return takeRecorded() }
    if let skipped = skipped(before: polled) { recorded.append(skipped) }
    // A callback ran in the same call: it came first.
    guard let earlier = takeRecorded() else { return polled }
    recorded.append(polled)
    return earlier
  }

  private func next() -> KafkaPoll? {
    while !queue.isEmpty {
      switch queue.removeFirst() {
      case .message(let message):
        hasTaken(message)
        return .message(message)
      case .end(let partition, let end):
        if !positions.is(partition, at: end) { return .end(partition, end) }
      case let event: serve(event)
      }
    }
    return nil
  }

  /// What librdkafka's callbacks do.
  func serve(_ event: Event) {
    switch event {
    case .assign(let partitions): take(partitions)
    case .revoke: beginRevoke()
    case .connectionLost:
      recorded.append(
        .error(
          KafkaError(
            .unreachable, doing: "talking to Kafka", name: "_ALL_BROKERS_DOWN",
            text: "1/1 brokers are down")))
      reaches(false)
    case .statistics: reaches(isConnected)
    case .other(let polled): recorded.append(polled)
    case .message, .end: return
    }
  }

  private func reaches(_ isReachable: Bool) {
    guard self.isReachable != isReachable else { return }
    self.isReachable = isReachable
    recorded.append(.reachable(isReachable))
  }

  private func skipped(before polled: KafkaPoll) -> KafkaPoll? {
    let (partition, offset, following): (KafkaPartition, Int64, Int64)
    switch polled {
    case .message(let message):
      (partition, offset, following) = (message.source, message.offset, message.offset + 1)
    case .end(let source, let end): (partition, offset, following) = (source, end, end)
    default: return nil
    }
    return positions.reached(partition, offset, following: following) {
      readings[partition]?.knownFirst
    }.map { .skipped(partition, $0) }
  }

  private func takeRecorded() -> KafkaPoll? {
    recorded.isEmpty ? nil : recorded.removeFirst()
  }

  func enqueue(_ event: Event) {
    guard !isClosed else { return }
    queue.append(event)
    if queue.count == 1 { waker?.call() }
  }

  package func wake(by waker: ConsumerWaker?) {
    self.waker = waker
    if !queue.isEmpty { waker?.call() }
  }

  func checkOpen(_ doing: String) throws(KafkaError) {
    guard !isClosed else {
      throw KafkaError(code: .closed, message: "\(doing): the consumer is closed")
    }
  }

  // MARK: lag

  package var lag: [KafkaPartition: Int64] {
    isClosed ? [:] : lags.filter { assignment.contains($0.key) }
  }

  package func measureLag() {
    guard !isClosed, !isAskingLag, isConnected else { return }
    isAskingLag = true
    let asked = assignment.sorted()
    coordinator.ask(.lag) { [broker, group] (answer: ([KafkaPartition: Int64]) -> Void) in
      var lags: [KafkaPartition: Int64] = [:]
      for partition in asked {
        guard let first = broker.first(of: partition), let end = broker.end(of: partition)
        else { continue }
        lags[partition] = max(0, end - max(group.committed[partition] ?? first, first))
      }
      answer(lags)
    } then: { [weak self] lags in
      self?.isAskingLag = false
      self?.lags = lags ?? [:]
    }
  }

  // MARK: close

  @discardableResult
  package func close(timeout: Duration) -> Bool {
    guard !isClosed else { return true }
    giveUpRevoked()
    asksBeforeRevoke = false
    waker = nil
    isSubscribed = false
    // A static member keeps its partitions until its session ends.
    leavesWhenUnassigned = options.staticMember == nil
    // Commits under way are waited for.
    if isConnected { coordinator.finish() }
    let isInOrder = isConnected
    for event in queue {
      if case .other = event { serve(event) }
    }
    if !assignment.isEmpty, !isFenced { giveUp(assignment.sorted()) }
    if leavesWhenUnassigned { leave() }
    isClosed = true
    queue = []
    readings = [:]
    assignment = []
    paused = []
    offsetsToCommitOnRevoke = nil
    if let parkedFetch { _ = broker.cancelFetch(parkedFetch) }
    host.remove(self)
    return isInOrder
  }
}

extension MemoryConsumer: MemoryClient {
  var links: [MemoryLink] { [coordinator, fetcher] }

  func connectionLost() {
    isConnected = false
    isFetching = false
    parkedFetch = nil
    enqueue(.connectionLost)
  }

  func connectionMade() {
    guard !isClosed, !isConnected else { return }
    isConnected = true
    sendDeferred()
    if membership == .joining { sendJoin() }
    fetch()
  }

  func abandon() {}
}
