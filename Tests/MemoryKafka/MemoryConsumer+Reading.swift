import Kafka

/// Where a consumer is in a partition of its own.
struct PartitionReading {
  /// Another one whenever what was fetched ahead is of no use any more.
  var epoch: Int
  /// Whether it is known what the group has committed.
  var isKnown: Bool
  var committed: Int64?
  /// The offset that `poll` returns next; nil: where reading begins was not looked for yet.
  var next: Int64?
  /// The offset to fetch next.
  var fetched: Int64?
  /// The end that was reported last.
  var reportedEnd: Int64?
  /// The first offset that the partition has, by the last answer.
  var knownFirst: Int64?
  /// Nobody has the partition.
  var isMissing = false

  init(epoch: Int, isKnown: Bool) {
    self.epoch = epoch
    self.isKnown = isKnown
  }
}

/// What is fetched ahead of `poll`.
extension MemoryConsumer {
  /// Events that wait for `poll`, beyond which nothing more is fetched (queued.min.messages).
  private static let readAhead = 1000

  /// Of its partitions: offsets that `poll` has passed and the group has not committed.
  var uncommitted: Int64 {
    readings.reduce(0) { sum, reading in
      guard let next = reading.value.next else { return sum }
      let first = broker.first(of: reading.key) ?? 0
      return sum + max(0, next - (group.committed[reading.key] ?? first))
    }
  }

  package func pause(_ partitions: [KafkaPartition]) {
    guard !isClosed else { return }
    let running = partitions.filter { assignment.contains($0) && !paused.contains($0) }
    guard !running.isEmpty else { return }
    paused.formUnion(running)
    dropFetched(running)
    fetchAfresh()
  }

  package func resume(_ partitions: [KafkaPartition]) {
    guard !isClosed else { return }
    let stopped = partitions.filter { paused.contains($0) }
    guard !stopped.isEmpty else { return }
    paused.subtract(stopped)
    fetchAfresh()
  }

  func forget(_ partitions: [KafkaPartition]) {
    dropFetched(partitions)
    for partition in partitions { readings[partition] = nil }
    fetchAfresh()
  }

  func hasTaken(_ message: KafkaMessage) {
    readings[message.source]?.next = message.offset + 1
    fetch()
  }

  /// Reading goes on where `poll` ended.
  private func dropFetched(_ partitions: [KafkaPartition]) {
    let dropped = Set(partitions)
    queue.removeAll {
      switch $0 {
      case .message(let message): dropped.contains(message.source)
      case .end(let partition, _): dropped.contains(partition)
      default: false
      }
    }
    for partition in partitions {
      lastEpoch += 1
      readings[partition]?.epoch = lastEpoch
      let next = readings[partition]?.next
      readings[partition]?.fetched = next
      readings[partition]?.reportedEnd = nil
    }
  }

  /// A fetch that waits for records knows nothing of a change.
  private func fetchAfresh() {
    changes += 1
    if let parkedFetch, broker.cancelFetch(parkedFetch) {
      self.parkedFetch = nil
      isFetching = false
    }
    fetch()
  }

  func fetch() {
    guard isConnected, !isFetching, !isClosed, queue.count < Self.readAhead else { return }
    let asked = positionsToFetch()
    guard !asked.isEmpty else { return }
    isFetching = true
    fetches += 1
    fetcher.ask(.fetch) {
      [weak self, broker, changes] (answer: @escaping ([FetchedPartition]) -> Void) in
      guard let self, changes == self.changes else { return answer([]) }
      parkedFetch = broker.fetch(asked, answer)
    } then: { [weak self] answer in
      guard let self, let answer else { return }
      isFetching = false
      parkedFetch = nil
      for part in answer { read(part) }
      fetch()
    }
  }

  /// Each fetch begins with another partition.
  private func positionsToFetch() -> [FetchPosition] {
    let wanted = assignment.subtracting(paused).sorted()
    let turn = wanted.isEmpty ? 0 : fetches % wanted.count
    return (wanted[turn...] + wanted[..<turn]).compactMap { partition in
      begin(partition)
      guard let reading = readings[partition], let offset = reading.fetched, !reading.isMissing
      else { return nil }
      return FetchPosition(
        partition: partition, offset: offset, knowsEnd: reading.reportedEnd == offset,
        epoch: reading.epoch)
    }
  }

  /// Looks for where reading begins: at what was committed, or with what there is.
  private func begin(_ partition: KafkaPartition) {
    guard readings[partition]?.fetched == nil else { return }
    if readings[partition]?.isKnown == false {
      guard let committed = readCommitted() else { return }
      readings[partition]?.isKnown = true
      readings[partition]?.committed = committed[partition]
    }
    let offset = readings[partition]?.committed ?? broker.first(of: partition)
    readings[partition]?.next = offset
    readings[partition]?.fetched = offset
  }

  private func read(_ part: FetchedPartition) {
    let partition = part.position.partition
    guard readings[partition]?.epoch == part.position.epoch else { return }
    if part.reading != nil { readings[partition]?.knownFirst = part.first }
    switch part.reading {
    case .records(let records, let next):
      for entry in records {
        enqueue(.message(entry.record.message(at: entry.offset, in: partition)))
      }
      readings[partition]?.fetched = next
    case .end:
      if !part.position.knowsEnd { enqueue(.end(partition, part.position.offset)) }
      readings[partition]?.reportedEnd = part.position.offset
    case .outOfRange:
      // The policy is to go on with the oldest record.
      readings[partition]?.fetched = part.first
      readings[partition]?.reportedEnd = nil
    case nil: readings[partition]?.isMissing = true
    }
  }
}
