import DeadLetters
import EventLoop
import Kafka

/// The part of the dead letters that the API's threads share: one scan at a time, which counts for
/// a second, one replay or drop at a time, and a few reads of single letters.
actor DeadLetterDesk {
  nonisolated let topic: LetterTopic
  private let loop: EventLoop
  private var scanned: (scan: LetterScan, at: UInt64)?
  private var running: Task<Result<LetterScan, KafkaError>, Never>?
  private var isActing = false
  private var reading = 0

  /// Single letters that are read at a time: each read has a Kafka client of its own.
  private static let mostReading = 4

  /// How long a scan counts. Whoever acts by a filter says how many letters it expects.
  private static let scanCounts: Duration = .seconds(1)

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(_ options: APIOptions, loop: EventLoop) {
    self.loop = loop
    var limits = LetterTopic.Limits()
    // A client waits for it, and so do others who ask meanwhile.
    limits.time = min(limits.time, options.http.exchangeTimeout / 3)
    let log = options.log
    topic = LetterTopic(
      options.kafka, name: options.ingest.deadLettersTopic, limits: limits
    ) { line in
      log.log(line.level == .error ? .warning : .debug, "librdkafka: \(line.message)")
    }
  }

  func scan() async throws(KafkaError) -> LetterScan {
    if let scanned, loop.now &- scanned.at < Self.scanCounts.nanoseconds { return scanned.scan }
    if let running { return try await running.value.get() }
    let topic = topic
    let task = loop.task(on: self) { () -> Result<LetterScan, KafkaError> in
      do throws(KafkaError) {
        return .success(try await topic.scan())
      } catch {
        return .failure(error)
      }
    }
    running = task
    let result = await task.value
    running = nil
    if case .success(let scan) = result { scanned = (scan, loop.now) }
    return try result.get()
  }

  /// One letter; nil: Kafka has it not, or no longer.
  func record(_ id: LetterID) async throws(KafkaError) -> KafkaMessage? {
    guard reading < Self.mostReading else {
      throw KafkaError(
        code: .timedOut, message: "other letters are being read: ask again")
    }
    reading += 1
    defer { reading -= 1 }
    return try await topic.records([id]).records.first
  }

  /// Whether the caller may replay or drop letters now; it says so with `endAct` when it is done.
  func beginAct() -> Bool {
    defer { isActing = true }
    return !isActing
  }

  func endAct() { isActing = false }
}
