import CRdKafka
import Threads

/// A member of a consumer group. Confined to one thread, which must call `poll` more often than
/// `pollIntervalMaximum`, also while everything is paused: that keeps the membership.
///
/// Nothing is committed but by `commit`, `commitNow` and `offsetsToCommitOnRevoke`. An offset to
/// commit is that of the next record to read: one past the last one done.
package final class KafkaConsumer {
  let client: OpaquePointer
  private let queue: OpaquePointer
  private let topics: [String]
  let state: ConsumerState
  private let lagReader: LagReader
  private var isClosed = false
  /// Results that `poll` had not returned when the client was closed.
  private var recordedLast: [KafkaPoll] = []

  /// - Parameter log: takes librdkafka's log lines, from any thread.
  package init(
    _ options: KafkaOptions, topics: [String], log: @escaping KafkaLog
  ) throws(KafkaError) {
    var configuration = try KafkaConfiguration(options)
    try configuration.setConsumer(options)
    let state = ConsumerState(log: log)
    client = try configuration.makeClient(RD_KAFKA_CONSUMER, state)
    // Errors and commit results come out of the same poll as messages.
    rd_kafka_poll_set_consumer(client)
    queue = rd_kafka_queue_get_consumer(client)
    lagReader = LagReader(client)
    self.topics = topics
    self.state = state
  }

  deinit { close(timeout: .seconds(1)) }

  /// Returns the offsets to commit of partitions that are about to be taken away: called inside
  /// `poll` or `close`, before they are given back, so that the next owner begins where we ended.
  package var offsetsToCommitOnRevoke: (([KafkaPartition]) -> [KafkaPartition: Int64])? {
    get { state.offsetsToCommitOnRevoke }
    set { if !isClosed { state.offsetsToCommitOnRevoke = newValue } }
  }

  /// With this, a revocation comes as `.revoking` and the partitions stay ours until
  /// `giveUpRevoked`, which must come soon: the whole group waits.
  package var asksBeforeRevoke: Bool {
    get { state.asksBeforeRevoke }
    set { state.asksBeforeRevoke = newValue }
  }

  /// Gives back what `.revoking` named; what happened then comes out of `poll`.
  package func giveUpRevoked() {
    guard !isClosed, !state.revoking.isEmpty else { return }
    state.giveUp(client, state.revoking)
  }

  package var assignment: Set<KafkaPartition> { isClosed ? [] : state.assigned }
  package var paused: Set<KafkaPartition> { isClosed ? [] : state.paused }

  /// Of the partitions that are ours, how many records are not committed yet, as Kafka said when
  /// `measureLag` asked last; without those of which it has said nothing.
  package var lag: [KafkaPartition: Int64] {
    isClosed ? [:] : lagReader.lags.filter { state.assigned.contains($0.key) }
  }

  /// Asks Kafka for the lag of all partitions that are ours. Returns at once.
  package func measureLag() {
    if !isClosed { lagReader.ask(of: state.assigned.sorted()) }
  }

  /// Leaves the group, as if the client were closed, until `subscribe` joins it again: what is
  /// revoked comes out of `poll`.
  package func unsubscribe() {
    guard !isClosed else { return }
    state.note(rd_kafka_unsubscribe(client), doing: "leaving the group")
  }

  /// Joins the group. Assignments come out of `poll`.
  package func subscribe() throws(KafkaError) {
    try checkOpen("subscribing to \(topics)")
    let list = PartitionList(topics: topics)
    try check(rd_kafka_subscribe(client, list.handle), doing: "subscribing to \(topics)")
  }

  /// The next thing that happened, in order; nil when nothing did within the time. With `.zero`
  /// it does not wait.
  package func poll(timeout: Duration = .zero) -> KafkaPoll? {
    if let earlier = takeRecorded() { return earlier }
    guard !isClosed else { return nil }
    let wait = Int32(clamping: timeout.wholeMilliseconds)
    guard let polled = next(wait) else { return takeRecorded() }
    if let skipped = skipped(before: polled) { state.recorded.append(skipped) }
    // A callback ran in the same call: it came first.
    guard let earlier = takeRecorded() else { return polled }
    state.recorded.append(polled)
    return earlier
  }

  /// Returns the next poll result. Skips an end of a partition that the position has reached.
  private func next(_ wait: Int32) -> KafkaPoll? {
    var wait = wait
    while let message = rd_kafka_consumer_poll(client, wait) {
      defer { rd_kafka_message_destroy(message) }
      let polled = read(message)
      guard case .end(let partition, let end) = polled, state.positions.is(partition, at: end)
      else { return polled }
      wait = 0
    }
    return nil
  }

  /// Returns the offsets before this one that the partition no longer has.
  private func skipped(before polled: KafkaPoll) -> KafkaPoll? {
    let (partition, offset, following): (KafkaPartition, Int64, Int64)
    switch polled {
    case .message(let message) where message.offset < .max:
      (partition, offset, following) = (message.source, message.offset, message.offset + 1)
    case .end(let source, let end): (partition, offset, following) = (source, end, end)
    default: return nil
    }
    return state.positions.reached(partition, offset, following: following) {
      partition.knownFirst(by: client)
    }.map { .skipped(partition, $0) }
  }

  /// Writes eight bytes to `descriptor`, a non-blocking eventfd, when something arrives where
  /// nothing was. Poll until nil after each wake-up and once after this call. The descriptor is
  /// the caller's: `nil` ends the writing, do that before closing it.
  package func wake(descriptor: Int32?) {
    guard !isClosed else { return }
    guard let descriptor else { return rd_kafka_queue_io_event_enable(queue, -1, nil, 0) }
    var one: UInt64 = 1
    rd_kafka_queue_io_event_enable(queue, descriptor, &one, MemoryLayout<UInt64>.size)
  }

  /// Stops reading these, of which those not assigned or already paused are passed over. Call
  /// `poll` still.
  package func pause(_ partitions: [KafkaPartition]) {
    guard !isClosed else { return }
    state.pause(client, partitions)
  }

  /// Goes on reading where `poll` ended; partitions that are not paused are passed over.
  package func resume(_ partitions: [KafkaPartition]) {
    guard !isClosed else { return }
    state.resume(client, partitions)
  }

  /// Starts a commit; `poll` returns `.committed` or `.commitFailed`. Partitions that are not ours
  /// fail: a broker would take them from any member of the group, and the new owner may be further.
  package func commit(_ offsets: [KafkaPartition: Int64]) {
    guard !isClosed else { return }
    let ours = state.ours(client, offsets)
    let others = offsets.filter { ours[$0.key] == nil }
    if !others.isEmpty { state.recorded.append(.commitFailed(others, Self.notOurs)) }
    guard !ours.isEmpty else { return }
    let list = PartitionList(ours)
    let error = rd_kafka_commit(client, list.handle, 1)
    guard error != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
    state.recorded.append(.commitFailed(ours, KafkaError(error, doing: "committing offsets")))
  }

  /// Commits and blocks for the answer, for at most `timeout`. Throws the first error when any
  /// partition failed, or is not ours.
  package func commitNow(_ offsets: [KafkaPartition: Int64], timeout: Duration) throws(KafkaError) {
    guard !offsets.isEmpty else { return }
    try checkOpen("committing offsets")
    let ours = state.ours(client, offsets)
    if !ours.isEmpty, let error = commitAndWait(client, ours, timeout: timeout).error {
      throw error
    }
    if ours.count < offsets.count { throw Self.notOurs }
  }

  private static let notOurs = KafkaError(
    code: .rebalanced, message: "committing offsets: the partition is another member's now")

  /// Leaves the group and frees everything; returns false when that could not be done in good order
  /// within `timeout`. Then the group notices our absence only after the session time-out, and the
  /// client's memory and threads go when librdkafka has given up waiting for its brokers. Results
  /// from meanwhile can still be polled. Once only; further calls do nothing.
  @discardableResult
  package func close(timeout: Duration) -> Bool {
    guard !isClosed else { return true }
    giveUpRevoked()
    state.asksBeforeRevoke = false
    wake(descriptor: nil)
    isClosed = true
    lagReader.cancel()
    let leftInOrder = leave(timeout: timeout)
    rd_kafka_queue_destroy(queue)
    state.offsetsToCommitOnRevoke = nil
    state.assigned.removeAll()
    state.paused.removeAll()
    recordedLast = state.recorded
    state.recorded.removeAll()
    let abandoned = AbandonedClient(client, state, lagReader)
    if leftInOrder { abandoned.destroy() } else { abandoned.destroyInBackground() }
    return leftInOrder
  }

  private func leave(timeout: Duration) -> Bool {
    let clock = ContinuousClock()
    let deadline = clock.now + timeout
    let closing = rd_kafka_queue_new(client)
    defer { rd_kafka_queue_destroy(closing) }
    if let error = rd_kafka_consumer_close_queue(client, closing) {
      state.note(rd_kafka_error_code(error), doing: "leaving the group")
      rd_kafka_error_destroy(error)
      return false
    }
    while rd_kafka_consumer_closed(client) == 0 {
      guard clock.now < deadline else { return false }
      // Drops messages that were read ahead: they are not committed.
      // (`rd_kafka_queue_poll_callback` would abort.)
      if let message = rd_kafka_consume_queue(closing, 20) { rd_kafka_message_destroy(message) }
    }
    return true
  }

  private func read(_ message: UnsafeMutablePointer<rd_kafka_message_t>) -> KafkaPoll {
    let error = message.pointee.err
    if error == RD_KAFKA_RESP_ERR_NO_ERROR { return .message(KafkaMessage(message)) }
    let name = message.pointee.rkt.map { String(cString: rd_kafka_topic_name($0)) } ?? ""
    if error == RD_KAFKA_RESP_ERR__PARTITION_EOF {
      return .end(
        KafkaPartition(topic: name, partition: message.pointee.partition), message.pointee.offset)
    }
    let topic = name.isEmpty ? "" : " \(name)"
    let detail = rd_kafka_message_errstr(message).map { String(cString: $0) } ?? ""
    return .error(KafkaError(error, doing: "reading\(topic)", detail: detail))
  }

  private func takeRecorded() -> KafkaPoll? {
    guard !isClosed else { return recordedLast.isEmpty ? nil : recordedLast.removeFirst() }
    return state.recorded.isEmpty ? nil : state.recorded.removeFirst()
  }

  private func checkOpen(_ doing: String) throws(KafkaError) {
    guard !isClosed else {
      throw KafkaError(code: .closed, message: "\(doing): the consumer is closed")
    }
  }

  private func check(_ error: rd_kafka_resp_err_t, doing: String) throws(KafkaError) {
    guard error != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
    throw KafkaError(error, doing: doing)
  }
}

/// A consumer whose commits no broker answers. librdkafka destroys it only when they have timed
/// out, which takes `session.timeout.ms` and longer: a thread of its own waits for that.
///
/// `@unchecked Sendable`: its maker gives client and state up, and the thread is all that touches
/// them from then on.
final class AbandonedClient: @unchecked Sendable {
  private let client: OpaquePointer
  private let state: ConsumerState
  private let lagReader: LagReader

  init(_ client: OpaquePointer, _ state: ConsumerState, _ lagReader: LagReader) {
    self.client = client
    self.state = state
    self.lagReader = lagReader
  }

  func destroy() {
    lagReader.stop()
    rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
    // No callback can come any more.
    state.release()
  }

  /// Returns at once; without a thread to be had it blocks until the client is destroyed.
  func destroyInBackground() {
    if let thread = SystemThread({ self.destroy() }) { thread.detach() } else { destroy() }
  }
}

/// How many records of each partition are there to be read and not committed yet. Asked of Kafka on
/// a thread of its own, because the questions block; what the client itself knows of the end of a
/// partition comes with what it fetches, so that of one that is paused it is old.
///
/// `@unchecked Sendable`: the client is librdkafka's, which is safe from any thread, and is
/// destroyed only after `stop`.
final class LagReader: @unchecked Sendable {
  /// For an answer, at most.
  private static let timeout: Duration = .seconds(1)

  private struct State {
    var isAsking = false
    var isCancelled = false
    var thread: SystemThread?
    var lags: [KafkaPartition: Int64] = [:]
  }

  private let client: OpaquePointer
  private let state = ThreadLock(State())

  init(_ client: OpaquePointer) { self.client = client }

  /// By the last answers; without the partitions of which Kafka has said nothing.
  var lags: [KafkaPartition: Int64] { state.withLock { $0.lags } }

  /// Begins to ask, unless it does. Returns at once.
  func ask(of partitions: [KafkaPartition]) {
    let (mayAsk, ended) = state.withLock { state -> (Bool, SystemThread?) in
      guard !state.isAsking, !state.isCancelled else { return (false, nil) }
      state.isAsking = true
      defer { state.thread = nil }
      return (true, state.thread)
    }
    ended?.join()
    guard mayAsk else { return }
    // The thread itself waits for this lock when it ends.
    state.withLock { state in
      state.thread = SystemThread { self.read(partitions) }
      if state.thread == nil { state.isAsking = false }
    }
  }

  /// Asks nothing more. A question under way goes on for as long as Kafka may take for one answer.
  func cancel() { state.withLock { $0.isCancelled = true } }

  /// Returns when nothing is asked any more.
  func stop() {
    cancel()
    let running = state.withLock { state in
      defer { state.thread = nil }
      return state.thread
    }
    running?.join()
  }

  private func read(_ partitions: [KafkaPartition]) {
    let committed = PartitionList(partitions)
    var lags: [KafkaPartition: Int64] = [:]
    if !partitions.isEmpty,
      rd_kafka_committed(client, committed.handle, Int32(clamping: Self.timeout.wholeMilliseconds))
        == RD_KAFKA_RESP_ERR_NO_ERROR
    {
      for entry in PartitionEntry.all(in: committed.handle) {
        guard entry.error == RD_KAFKA_RESP_ERR_NO_ERROR, !state.withLock({ $0.isCancelled }),
          let (first, end) = try? entry.partition.bounds(by: client, timeout: Self.timeout)
        else { continue }
        // A group that has committed nothing begins with what is there.
        lags[entry.partition] = max(0, end - max(entry.offset, first))
      }
    }
    state.withLock { state in
      state.lags = lags
      state.isAsking = false
    }
  }
}
