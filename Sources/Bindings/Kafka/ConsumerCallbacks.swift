import CRdKafka
import Glibc

/// The state of the consumer's callbacks. All but `log`, which is immutable, is touched on the
/// consumer's own thread only: these callbacks run inside its calls.
final class ConsumerState: CallbackState {
  /// Results of a call that `poll` has not returned yet.
  var recorded: [KafkaPoll] = []
  var assigned: Set<KafkaPartition> = []
  var paused: Set<KafkaPartition> = []
  /// Of the partitions that are ours.
  var positions = ReadPositions()
  var offsetsToCommitOnRevoke: (([KafkaPartition]) -> [KafkaPartition: Int64])?
  var revokeCommitTimeout = Duration.seconds(2)
  /// The group's coordinator has just given us the partitions: it is there.
  private static let committedTimeout = Duration.seconds(1)
  /// Partitions that the group wants back are kept until `giveUp` is called.
  var asksBeforeRevoke = false
  /// The partitions whose revocation the group waits for.
  var revoking: [KafkaPartition] = []
  /// Whether a broker can be reached; nil before that is known.
  var isReachable: Bool?

  override func failed(_ error: KafkaError, _ code: rd_kafka_resp_err_t) {
    recorded.append(.error(error))
    if code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN { reaches(false) }
  }

  override func setCallbacks(_ handle: OpaquePointer?) {
    super.setCallbacks(handle)
    rd_kafka_conf_set_rebalance_cb(handle) { client, event, partitions, opaque in
      guard let client else { return }
      ConsumerState.find(opaque)?.rebalance(client, event, partitions)
    }
    rd_kafka_conf_set_stats_cb(handle) { _, statistics, _, opaque in
      if let statistics { ConsumerState.find(opaque)?.heard(statistics) }
      // The text is librdkafka's to free.
      return 0
    }
    rd_kafka_conf_set_offset_commit_cb(handle) { _, error, offsets, opaque in
      ConsumerState.find(opaque)?.committed(error, offsets)
    }
  }
}

extension ConsumerState {
  /// No callback says that a broker is back, and an idle worker would not notice for hours: the
  /// statistics hold the state of each connection.
  fileprivate func heard(_ statistics: UnsafePointer<CChar>) {
    if let anyAnswers = BrokerStates.anyAnswers(statistics) { reaches(anyAnswers) }
  }

  private func reaches(_ isReachable: Bool) {
    guard self.isReachable != isReachable else { return }
    self.isReachable = isReachable
    recorded.append(.reachable(isReachable))
  }

  fileprivate func committed(
    _ error: rd_kafka_resp_err_t, _ offsets: UnsafePointer<rd_kafka_topic_partition_list_t>?
  ) {
    let entries = PartitionEntry.all(in: offsets).filter { $0.offset >= 0 }
    let outcome = PartitionEntry.outcome(ofCommit: entries, overall: error)
    if !outcome.committed.isEmpty { recorded.append(.committed(outcome.committed)) }
    if let error = outcome.error { recorded.append(.commitFailed(outcome.failed, error)) }
  }

  fileprivate func rebalance(
    _ client: OpaquePointer, _ event: rd_kafka_resp_err_t,
    _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
  ) {
    let partitions = PartitionEntry.all(in: list).map(\.partition)
    switch event {
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
      assign(client, list)
      assigned.formUnion(partitions)
      recorded.append(.assigned(partitions.sorted()))
    case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
      if asksBeforeRevoke, rd_kafka_assignment_lost(client) == 0, !partitions.isEmpty {
        // librdkafka waits for the call that unassigns, and the group with it.
        revoking = partitions
        recorded.append(.revoking(partitions.sorted()))
      } else {
        giveUp(client, partitions)
      }
    default: rebalanceFailed(client, KafkaError(event, doing: "joining the group"))
    }
  }

  /// Holds nothing: the next rebalance begins afresh.
  func rebalanceFailed(_ client: OpaquePointer, _ error: KafkaError) {
    recorded.append(.error(error))
    if !assigned.isEmpty { recorded.append(.lost(assigned.sorted())) }
    positions.revoked(assigned)
    assigned.removeAll()
    revoking = []
    // Given back unpaused, as in `giveUp`.
    resume(client, Array(paused))
    note(rd_kafka_assign(client, nil), doing: "giving up the partitions")
  }

  /// Commits what may be committed and unassigns.
  func giveUp(_ client: OpaquePointer, _ partitions: [KafkaPartition]) {
    revoking = []
    let isLost = rd_kafka_assignment_lost(client) != 0
    if !isLost { commitBeforeRevoke(client, partitions) }
    // Given back unpaused: the pause must not survive into a later assignment.
    resume(client, partitions)
    note(rd_kafka_assign(client, nil), doing: "giving up the partitions")
    assigned.subtract(partitions)
    positions.revoked(partitions)
    let sorted = partitions.sorted()
    recorded.append(isLost ? .lost(sorted) : .revoked(sorted))
  }

  /// Only partitions that are paused: resuming another one moves its position.
  func resume(_ client: OpaquePointer, _ partitions: [KafkaPartition]) {
    let stopped = partitions.filter { paused.contains($0) }
    guard !stopped.isEmpty else { return }
    paused.subtract(stopped)
    let list = PartitionList(stopped)
    note(rd_kafka_resume_partitions(client, list.handle), doing: "resuming partitions")
  }

  func pause(_ client: OpaquePointer, _ partitions: [KafkaPartition]) {
    let running = partitions.filter { assigned.contains($0) && !paused.contains($0) }
    guard !running.isEmpty else { return }
    paused.formUnion(running)
    let list = PartitionList(running)
    note(rd_kafka_pause_partitions(client, list.handle), doing: "pausing partitions")
  }

  func note(_ error: rd_kafka_resp_err_t, doing: String) {
    guard error != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
    recorded.append(.error(KafkaError(error, doing: doing)))
  }

  /// Those of partitions that are ours as far as the callbacks have heard, though `poll` may not
  /// have said so.
  func ours(
    _ client: OpaquePointer, _ offsets: [KafkaPartition: Int64]
  ) -> [KafkaPartition: Int64] {
    guard rd_kafka_assignment_lost(client) == 0 else { return [:] }
    return offsets.filter { assigned.contains($0.key) }
  }

  private func commitBeforeRevoke(_ client: OpaquePointer, _ partitions: [KafkaPartition]) {
    let offsets = ours(client, offsetsToCommitOnRevoke?(partitions) ?? [:])
    guard !offsets.isEmpty else { return }
    let outcome = commitAndWait(client, offsets, timeout: revokeCommitTimeout)
    if !outcome.committed.isEmpty { recorded.append(.committed(outcome.committed)) }
    if let error = outcome.error { recorded.append(.commitFailed(outcome.failed, error)) }
  }

  private func assign(
    _ client: OpaquePointer, _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
  ) {
    readCommitted(client, list)
    note(rd_kafka_assign(client, list), doing: "taking the partitions over")
  }

  /// Where each partition is to be read from, so that it is known what Kafka has thrown away since.
  /// The client would ask the same; when nobody answers in time it does.
  private func readCommitted(
    _ client: OpaquePointer, _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
  ) {
    guard let list else { return }
    let timeout = Int32(clamping: Self.committedTimeout.wholeMilliseconds)
    let isAnswered =
      rd_kafka_committed(client, list, timeout) == RD_KAFKA_RESP_ERR_NO_ERROR
    for index in 0..<Int(list.pointee.cnt) {
      guard let element = list.pointee.elems?.advanced(by: index),
        let topic = element.pointee.topic
      else { continue }
      if !isAnswered || element.pointee.err != RD_KAFKA_RESP_ERR_NO_ERROR {
        element.pointee.offset = Int64(RD_KAFKA_OFFSET_INVALID)
        element.pointee.err = RD_KAFKA_RESP_ERR_NO_ERROR
      }
      let offset = element.pointee.offset
      positions.assigned(
        KafkaPartition(topic: String(cString: topic), partition: element.pointee.partition),
        committed: offset >= 0 ? offset : nil)
    }
  }
}

/// Commits and waits for the answer, at most `timeout`. A commit that is unanswered then counts
/// as failed, though it may have succeeded: the work is delivered once more.
func commitAndWait(
  _ client: OpaquePointer, _ offsets: [KafkaPartition: Int64], timeout: Duration
) -> (committed: [KafkaPartition: Int64], failed: [KafkaPartition: Int64], error: KafkaError?) {
  let doing = "committing offsets"
  let list = PartitionList(offsets)
  let queue = rd_kafka_queue_new(client)
  defer { rd_kafka_queue_destroy(queue) }
  let started = rd_kafka_commit_queue(client, list.handle, queue, nil, nil)
  guard started == RD_KAFKA_RESP_ERR_NO_ERROR else {
    return ([:], offsets, KafkaError(started, doing: doing))
  }
  guard let event = rd_kafka_queue_poll(queue, Int32(clamping: timeout.wholeMilliseconds)) else {
    return ([:], offsets, KafkaError(RD_KAFKA_RESP_ERR__TIMED_OUT, doing: doing))
  }
  defer { rd_kafka_event_destroy(event) }
  return PartitionEntry.outcome(
    ofCommit: PartitionEntry.all(in: rd_kafka_event_topic_partition_list(event)),
    overall: rd_kafka_event_error(event))
}

extension KafkaLogLine {
  init(_ level: Int32, _ facility: UnsafePointer<CChar>?, _ text: UnsafePointer<CChar>?) {
    self.init(
      level: Level(syslog: level), facility: facility.map { String(cString: $0) } ?? "",
      message: text.map { String(cString: $0) } ?? "")
  }
}

extension KafkaError {
  /// From an error callback. A fatal error hides its reason behind a code of its own.
  init(client: OpaquePointer?, error: Int32, reason: UnsafePointer<CChar>?) {
    let code = rd_kafka_resp_err_t(rawValue: error)
    let text = reason.map { String(cString: $0) } ?? ""
    guard code == RD_KAFKA_RESP_ERR__FATAL, let client else {
      self.init(code, doing: "talking to Kafka", detail: text)
      return
    }
    var buffer = [CChar](repeating: 0, count: 512)
    let underlying = rd_kafka_fatal_error(client, &buffer, buffer.count)
    self.init(
      code: .fatal,
      message: "talking to Kafka: this client cannot go on; it must be replaced by a new one",
      cause: "\(String(cString: rd_kafka_err2name(underlying))): "
        + String(nulTerminated: buffer))
  }
}

/// Up to where each partition has been read, and what was taken out of it before anybody had read
/// it: a pure machine.
///
/// Offsets have gaps of other kinds, too: the ends of transactions, aborted records, compaction. A
/// record is lost only where the partition itself begins later than reading was to go on.
package struct ReadPositions: Equatable {
  /// The next offset to read; nothing where that is not known.
  private var next: [KafkaPartition: Int64] = [:]

  package init() {}

  /// - Parameter committed: where reading begins; nil when nothing was committed, so that nobody
  ///   misses what went before.
  package mutating func assigned(_ partition: KafkaPartition, committed: Int64?) {
    next[partition] = committed
  }

  package mutating func revoked(_ partitions: some Sequence<KafkaPartition>) {
    for partition in partitions { next[partition] = nil }
  }

  /// Whether reading is known to be there already.
  package func `is`(_ partition: KafkaPartition, at offset: Int64) -> Bool {
    offset == next[partition]
  }

  /// Reading has come to an offset: of a record, or of the end of the partition.
  ///
  /// - Parameters:
  ///   - following: the next offset to read then.
  ///   - first: the offset at which the partition begins now; nil when that is not known. Asked
  ///     only where offsets have a gap.
  /// - Returns: the offsets that were to be read and that the partition does not have any more.
  package mutating func reached(
    _ partition: KafkaPartition, _ offset: Int64, following: Int64, first: () -> Int64?
  ) -> Range<Int64>? {
    defer { next[partition] = following }
    guard let expected = next[partition], offset > expected, let first = first(),
      first > expected
    else { return nil }
    return expected..<min(first, offset)
  }
}
