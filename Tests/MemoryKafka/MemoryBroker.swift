import Kafka

/// A Kafka in memory, for a world whose time is virtual: topics, groups, and the faults of both.
/// Everything in it follows from the time and the numbers that it is given and from the order of
/// calls. `MemoryHost` makes the clients.
///
/// What it does not have: open transactions, compaction, retention by time (a world calls
/// `deleteRecords`), assignors other than `range`, the new group protocol, and more than one
/// broker.
///
/// `@unchecked Sendable`: confined to the thread that runs the world. It must outlive its clients'
/// use.
package final class MemoryBroker: @unchecked Sendable {
  package struct Options: Sendable {
    /// How long a group without members waits for more of them (group.initial.rebalance.delay.ms).
    package var initialRebalanceDelay = Duration.seconds(3)
    /// Larger records are refused (max.message.bytes).
    package var maximumRecordBytes = 1_048_588
    /// Partitions of a topic that somebody asks for and nobody has made; nil: it stays unknown.
    package var partitionsOfNewTopics: Int?

    package init() {}
  }

  private struct Fault {
    let request: MemoryRequest
    let failure: MemoryFailure
    let host: String?
    let topic: String?
  }

  private struct ParkedFetch {
    let number: Int
    let positions: [FetchPosition]
    let answer: ([FetchedPartition]) -> Void
  }

  package let options: Options
  let time: MemoryTime
  /// How long a request takes one way. The world draws it.
  package var delay: (MemoryRequest) -> Duration = { _ in .zero }
  /// Takes a line for each thing that a reader of a trace wants to know.
  package var trace: ((String) -> Void)?
  /// Hears of the offsets that a group has committed.
  package var whenCommitted: (([KafkaPartition: Int64]) -> Void)?
  /// Offsets that a consumer was to commit of partitions that it had not.
  package internal(set) var strayCommits = 0
  package private(set) var isAway = false
  private var sessionsGoOn = false
  private var topics: [String: [MemoryLog]] = [:]
  private var groups: [String: MemoryGroup] = [:]
  private var hosts: [MemoryHost] = []
  private var faults: [Fault] = []
  private var parked: [ParkedFetch] = []
  private var lastFetch = 0

  package init(_ time: MemoryTime, options: Options = Options()) {
    self.time = time
    self.options = options
  }

  package func host(_ name: String) -> MemoryHost {
    let host = MemoryHost(name: name, broker: self)
    hosts.append(host)
    return host
  }

  /// Lets go of all clients. To be called when the world ends.
  package func end() {
    for host in hosts { host.end() }
    hosts = []
    parked = []
  }

  func say(_ line: @autoclosure () -> String) { trace?(line()) }

  func group(_ name: String) -> MemoryGroup {
    if let group = groups[name] { return group }
    let group = MemoryGroup(name: name, broker: self)
    groups[name] = group
    return group
  }

  var sessionsRun: Bool { !isAway || sessionsGoOn }

  // MARK: faults

  /// While Kafka is away it answers nobody; what it holds is kept.
  /// - Parameter sessionsGoOn: whether groups miss their members' heartbeats meanwhile, as the
  ///   embedded broker's do. A real broker that starts again begins their sessions afresh.
  package func setAway(_ isAway: Bool, sessionsGoOn: Bool = false) {
    guard isAway != self.isAway else { return }
    self.isAway = isAway
    self.sessionsGoOn = sessionsGoOn
    say(isAway ? "kafka is away" : "kafka is back")
    if isAway { parked = [] }
    for host in hosts where !host.isCut {
      if isAway { host.disconnect() } else { host.connect() }
    }
    if !isAway { for name in groups.keys.sorted() { groups[name]?.kafkaIsBack() } }
  }

  /// The next requests of this kind fail, one after the other.
  /// - Parameter host: of this host only; `topic`: of records of this topic only.
  package func fail(
    next request: MemoryRequest, with failures: [MemoryFailure], host: String? = nil,
    topic: String? = nil
  ) {
    for failure in failures {
      faults.append(Fault(request: request, failure: failure, host: host, topic: topic))
    }
  }

  /// No request fails any more for what `fail` said.
  package func endFaults() { faults = [] }

  func takeFault(_ request: MemoryRequest, _ host: MemoryHost, topic: String? = nil)
    -> MemoryFailure?
  {
    let index = faults.firstIndex {
      $0.request == request && ($0.host ?? host.name) == host.name
        && ($0.topic == nil || $0.topic == topic)
    }
    guard let index else { return nil }
    let failure = faults.remove(at: index).failure
    say("\(host.name): \(request) fails: \(failure)")
    return failure
  }
}

// MARK: - Topics

extension MemoryBroker {
  /// Does nothing when the topic is there.
  package func create(topic: String, partitions: Int) {
    guard topics[topic] == nil else { return }
    topics[topic] = Array(repeating: MemoryLog(), count: max(partitions, 1))
    wakeFetches { $0.topic == topic }
  }

  /// Throws the topic away, with its records and the offsets that groups have committed for it.
  package func delete(topic: String) {
    guard topics.removeValue(forKey: topic) != nil else { return }
    say("topic \(topic) is deleted")
    for name in groups.keys.sorted() { groups[name]?.forget(topic) }
    wakeFetches { $0.topic == topic }
  }

  /// Throws away what the partition holds below the offset, as retention does, or DeleteRecords.
  package func deleteRecords(of partition: KafkaPartition, before offset: Int64) {
    change(partition) { $0.delete(before: offset) }
    say("\(partition) begins at \(first(of: partition) ?? 0)")
    wakeFetches { $0 == partition }
  }

  /// Writes a record at once. Returns its offset; nil when there is no such partition.
  @discardableResult
  package func append(_ record: MemoryRecord, to partition: KafkaPartition) -> Int64? {
    write(record, to: partition)
  }

  /// Writes an offset that nobody is given: the end of a transaction, or an aborted record.
  @discardableResult
  package func appendControlRecord(to partition: KafkaPartition) -> Int64? {
    write(nil, to: partition)
  }

  private func write(_ record: MemoryRecord?, to partition: KafkaPartition) -> Int64? {
    var offset: Int64?
    change(partition) { offset = $0.append(record) }
    wakeFetches { $0 == partition }
    return offset
  }

  private func change(_ partition: KafkaPartition, _ change: (inout MemoryLog) -> Void) {
    let index = Int(partition.partition)
    guard topics[partition.topic]?.indices.contains(index) == true else { return }
    change(&topics[partition.topic, default: []][index])
  }

  /// Of the topic; nil when there is none.
  package func partitions(of topic: String) -> Int? { topics[topic]?.count }

  /// The first offset that is kept.
  package func first(of partition: KafkaPartition) -> Int64? { log(partition)?.first }

  /// The offset of the next record that will be written.
  package func end(of partition: KafkaPartition) -> Int64? { log(partition)?.end }

  /// What the partition holds, in order.
  package func records(of partition: KafkaPartition) -> [(offset: Int64, record: MemoryRecord)] {
    log(partition)?.records.map { ($0.offset, $0.record) } ?? []
  }

  private func log(_ partition: KafkaPartition) -> MemoryLog? {
    guard let logs = topics[partition.topic], logs.indices.contains(Int(partition.partition))
    else { return nil }
    return logs[Int(partition.partition)]
  }

  /// As `partitions`, but a broker that makes topics on first use makes it now.
  func partitionsOnUse(_ topic: String) -> Int? {
    if topics[topic] == nil, let count = options.partitionsOfNewTopics {
      create(topic: topic, partitions: count)
    }
    return topics[topic]?.count
  }
}

// MARK: - Groups

extension MemoryBroker {
  /// What the group has committed.
  package func committed(by group: String) -> [KafkaPartition: Int64] {
    groups[group]?.committed ?? [:]
  }

  package func setCommitted(_ offsets: [KafkaPartition: Int64], by group: String) {
    self.group(group).committed.merge(offsets) { $1 }
  }

  package func generation(of group: String) -> Int { groups[group]?.generation ?? 0 }

  /// Members, by the host that each lives on, in the order in which they came.
  package func members(
    of group: String
  ) -> [(host: String, instance: String?, partitions: [KafkaPartition])] {
    groups[group]?.members.map { ($0.host, $0.instance, $0.assignment) } ?? []
  }

  /// Makes the group hand its partitions out again.
  package func rebalance(group: String) { groups[group]?.prepare("on request") }

  /// Removes the members that live on a host: they hear of it at their next heartbeat or commit.
  package func evict(host: String, from group: String) {
    groups[group]?.remove("evicted") { $0.host == host }
  }

  /// Has another client take the place of a static member, which cannot go on then.
  package func fence(instance: String, of group: String) { groups[group]?.fence(instance) }
}

// MARK: - Fetches

/// Where a client wants to read.
struct FetchPosition: Equatable {
  let partition: KafkaPartition
  let offset: Int64
  /// Whether it knows that the partition ends there.
  let knowsEnd: Bool
  /// What the client knows the reading by.
  let epoch: Int
}

struct FetchedPartition {
  let position: FetchPosition
  /// Nil: the partition is not there.
  let reading: MemoryLog.Reading?
  let first: Int64
}

extension MemoryBroker {
  /// Records of one partition in one answer, at most.
  private static let recordsInAnAnswer = 100

  /// Answers when there is something to say. Returns what `cancelFetch` takes.
  func fetch(
    _ positions: [FetchPosition], _ answer: @escaping ([FetchedPartition]) -> Void
  ) -> Int {
    lastFetch += 1
    let fetch = ParkedFetch(number: lastFetch, positions: positions, answer: answer)
    if !serve(fetch) { parked.append(fetch) }
    return fetch.number
  }

  /// Whether the fetch waited, and does no more.
  func cancelFetch(_ number: Int) -> Bool {
    guard let index = parked.firstIndex(where: { $0.number == number }) else { return false }
    parked.remove(at: index)
    return true
  }

  private func serve(_ fetch: ParkedFetch) -> Bool {
    var hasNews = false
    let read = fetch.positions.map { position in
      let log = log(position.partition)
      let reading = log?.read(from: position.offset, atMost: Self.recordsInAnAnswer)
      if reading != .end || !position.knowsEnd { hasNews = true }
      return FetchedPartition(position: position, reading: reading, first: log?.first ?? 0)
    }
    if hasNews { fetch.answer(read) }
    return hasNews
  }

  private func wakeFetches(of isConcerned: (KafkaPartition) -> Bool) {
    guard !parked.isEmpty else { return }
    let waiting = parked
    parked = waiting.filter { fetch in
      !fetch.positions.contains { isConcerned($0.partition) } || !serve(fetch)
    }
  }
}
