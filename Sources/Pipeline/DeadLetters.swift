import EventLoop
import Ingest
import Kafka
import Telemetry

/// Writes records that no try will make better to the dead letters, whole, with their reason.
/// Confined to the pump's loop.
final class DeadLetters {
  typealias Send = (DeadLetter) async throws(KafkaError) -> Void

  private let send: Send
  private let options: PipelineOptions
  private let loop: EventLoop
  private let board = WaitBoard()
  /// Letters that are tried again and again, by the timers that end their waiting.
  private var waiting: [ObjectIdentifier: (partition: KafkaPartition, timers: CancellableTimers)] =
    [:]
  private var isStopped = false

  init(options: PipelineOptions, loop: EventLoop, send: @escaping Send) {
    self.options = options
    self.send = send
    self.loop = loop
  }

  /// Dependencies that are waited for, in words.
  var waitsFor: [String] { board.all }

  /// Whoever waits for the dead letters to take a record waits no longer.
  func stop() {
    isStopped = true
    for (_, timers) in waiting.values { timers.stop() }
  }

  /// Another worker reads the records of these partitions again, and writes their letters.
  func forget(_ partitions: Set<KafkaPartition>) {
    for (partition, timers) in waiting.values where partitions.contains(partition) {
      timers.stop()
    }
  }

  func letter(of message: KafkaMessage, _ error: IngestError) -> DeadLetter {
    let time = WallClock.rfc3339(options.deliver.wallClock())
    return DeadLetter(message, error: error, worker: options.workerID, time: time)
  }

  /// One try.
  func write(_ letter: DeadLetter) async throws(KafkaError) {
    do {
      try await send(letter)
    } catch {
      guard error.code == .tooLarge else { throw error }
      // A record just under the topic's limit is over it with our headers.
      try await send(letter.abridged())
    }
  }

  /// Tries until the dead letters take what they would not take at first, the worker stops, or the
  /// record's partition is another's; whether they took it.
  func persist(_ letter: DeadLetter, from partition: KafkaPartition) async -> Bool {
    let timers = CancellableTimers(loop: loop)
    if isStopped { timers.stop() }
    waiting[ObjectIdentifier(timers)] = (partition, timers)
    defer { waiting[ObjectIdentifier(timers)] = nil }
    let retry = RetryUntilStopped(
      timers: timers, log: options.log, board: board, hasLastCall: false)
    do {
      try await retry.run(
        "Kafka takes dead letters", isTransient: { (_: KafkaError) in true },
        call: { () async throws(KafkaError) in try await write(letter) })
      return true
    } catch {
      return false
    }
  }
}
