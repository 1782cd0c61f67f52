import CRdKafka
import Threads

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

  /// Asks nothing more. What is being asked goes on for as long as Kafka may take for one answer.
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
      rd_kafka_committed(
        client, committed.handle, Int32(clamping: Self.timeout.wholeMilliseconds))
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
