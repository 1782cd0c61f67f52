import EventLoop
import Ingest
import Kafka
import Model
import Record
import Telemetry

/// The one way to the dead letters: writes records that no try will make better, whole, with their
/// reason. Confined to the pump's loop.
final class DeadLetters {
  typealias Send = (DeadLetter) async throws(KafkaError) -> Void

  /// A letter that is not written so soon waits as one that is refused: of a topic that is missing
  /// Kafka's client says so after half a minute, in which records of other partitions want slots.
  private static let answerTimeout: Duration = .milliseconds(500)

  private let send: Send
  private let options: PipelineOptions
  private let loop: EventLoop
  private let counters: WorkerCounters
  private let board = WaitBoard()
  /// Letters that are being written, in the order in which they came, with the timers that end
  /// their waiting.
  private var letters: [(partition: KafkaPartition, timers: CancellableTimers)] = []
  private var isStopped = false
  /// Why they did not take the letter that was tried last, if so.
  private var refusal: KafkaError?
  /// First tries that have had no answer for longer than `answerTimeout`.
  private var lateCount = 0
  /// Records that wait for the dead letters, of partitions that are ours or were.
  private(set) var waitingCount = 0

  init(options: PipelineOptions, loop: EventLoop, counters: WorkerCounters, send: @escaping Send) {
    self.options = options
    self.send = send
    self.loop = loop
    self.counters = counters
  }

  /// Dependencies that are waited for.
  var waitsFor: [DependencyWait] { board.all }

  /// Ends all waits for the dead letters to take a record.
  func stop() {
    isStopped = true
    for (_, timers) in letters { timers.stop() }
  }

  /// Another worker reads the records of these partitions again, and writes their letters.
  func forget(_ partitions: Set<KafkaPartition>) {
    for (partition, timers) in letters where partitions.contains(partition) {
      timers.stop()
    }
  }

  /// Whether the record is in the dead letters; false when it is left to another worker.
  ///
  /// - Parameter whenItWaits: called when they do not take it soon, once.
  func write(
    _ message: KafkaMessage, _ error: IngestError, whenItWaits: @escaping () -> Void
  ) async -> Bool {
    let letter = letter(of: message, error)
    let timers = CancellableTimers(loop: loop)
    letters.append((message.source, timers))
    defer { letters.removeAll { $0.timers === timers } }
    guard await isWritten(letter, of: message, timers, whenItWaits) else { return false }
    if message.topic == options.ingest.eventsTopic {
      counters.add(error.code.isOfTheRecord ? .eventsMalformed : .eventsDeadLettered)
    }
    counters.addDeadLetter(code: IngestError.Code.allCases.firstIndex(of: error.code) ?? .max)
    options.log.warning(
      "record sent to the dead letters",
      LogFields.trace(of: message).merging([
        "record": .text(message.place), "error": .text("\(error)"),
      ]))
    return true
  }

  private func isWritten(
    _ letter: DeadLetter, of message: KafkaMessage, _ timers: CancellableTimers,
    _ whenItWaits: @escaping () -> Void
  ) async -> Bool {
    let wait = Wait(whenItWaits)
    defer { end(wait) }
    // While they do not answer, or take nothing, another one would only find out the same.
    let lateness = loop.schedule(after: lateCount > 0 ? .zero : Self.answerTimeout) { [weak self] in
      self?.becameLate(wait, message)
    }
    defer { lateness.cancel() }
    do {
      // While they take nothing another first try would only hide for how long.
      if let refusal { throw refusal }
      try await write(letter)
      return true
    } catch {
      lateness.cancel()
      answered(wait)
      options.log.error(
        "the dead letters take nothing; the record's partition waits",
        ["record": .text(message.place), "error": .text("\(error)")])
      guard !isStopped, !timers.isStopped else { return false }
      begin(wait, "\(error)")
      return await persist(letter, timers)
    }
  }

  private func becameLate(_ wait: Wait, _ message: KafkaMessage) {
    options.log.warning(
      "the dead letters do not answer; the record's partition waits",
      ["record": .text(message.place)])
    wait.isLate = true
    lateCount += 1
    begin(wait, "no answer yet")
  }

  private func answered(_ wait: Wait) {
    if wait.isLate { lateCount -= 1 }
    wait.isLate = false
  }

  private func begin(_ wait: Wait, _ why: String) {
    let isFirst = wait.number == nil
    let number = wait.number ?? board.begin()
    wait.number = number
    board.say(number, .deadLetters, to: "write dead letters to Kafka", why)
    guard isFirst else { return }
    waitingCount += 1
    wait.whenItBegins()
  }

  private func end(_ wait: Wait) {
    answered(wait)
    guard let number = wait.number else { return }
    waitingCount -= 1
    board.end(number)
  }

  private func letter(of message: KafkaMessage, _ error: IngestError) -> DeadLetter {
    let time = WallClock.rfc3339(options.wallClock())
    return DeadLetter(message, error: error, worker: options.workerID, time: time)
  }

  /// One try.
  private func write(_ letter: DeadLetter) async throws(KafkaError) {
    do {
      try await sendWholeOrAbridged(letter)
      refusal = nil
    } catch {
      refusal = error
      throw error
    }
  }

  private func sendWholeOrAbridged(_ letter: DeadLetter) async throws(KafkaError) {
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
  private func persist(_ letter: DeadLetter, _ timers: CancellableTimers) async -> Bool {
    let retry = RetryUntilStopped(
      timers: timers, log: options.log, randomFraction: options.randomFraction, hasLastCall: false)
    do {
      try await retry.run(
        "write dead letters to Kafka", isTransient: { (_: KafkaError, _) in true },
        call: { () async throws(KafkaError) in try await write(letter) })
      return true
    } catch {
      return false
    }
  }

  /// A record that is to wait for its letter, from when on it does.
  private final class Wait {
    /// On the board; nil while it does not wait.
    var number: Int?
    /// Its first try has had no answer for longer than `answerTimeout`.
    var isLate = false
    let whenItBegins: () -> Void

    init(_ whenItBegins: @escaping () -> Void) { self.whenItBegins = whenItBegins }
  }
}

/// Notes records in the dead letters in their events and in the statistics. Confined to its lane.
final class DeadLetterNotes {
  private let lane: LaneContext
  /// Records in the dead letters that the statistics do not know of yet, by the code of the reason.
  private var uncounted: [String: Int] = [:]
  /// Those that the statistics were told of without an answer, by the receipt of that.
  private var unanswered: [String: [String: Int]] = [:]

  init(_ lane: LaneContext) { self.lane = lane }

  /// Whether the event knows of it, or nobody needs to; false when the worker stopped before.
  func take(
    _ message: KafkaMessage, _ error: IngestError, isolation: isolated any Actor = #isolation
  ) async -> Bool {
    uncounted[error.code.rawValue, default: 0] += 1
    beginToCount(isolation)
    do {
      try await note(message, error)
      return true
    } catch {
      return false
    }
  }

  private func beginToCount(_ isolation: isolated any Actor) {
    lane.loop.task(on: isolation) { await self.count() }
  }

  /// The event says what is missing of it, and comes to its end without it.
  private func note(_ message: KafkaMessage, _ error: IngestError) async throws {
    let now = lane.now
    let (event, part): (Event, DeadPart)
    switch lane.ingest.decode(message, now: now) {
    // Also one that this worker's clock alone calls early: it was opened. Of one that was not,
    // Redis notes nothing.
    case .event(let found), .early(let found, _): (event, part) = (found, .event)
    case .segment(let found): (event, part) = (found.event, .segment(found))
    case .plan(let found): (event, part) = (found.event, .plan)
    case .ended, .malformed: return
    }
    do {
      let figures = try await lane.retry.persistent("note a dead letter in Redis", for: event) {
        try await lane.record.noteDeadLetter(
          of: part, event, code: error.code.rawValue, source: message.place,
          released: ReleaseRecord.source(of: message), now: now)
      }
      if let figures {
        try await lane.ended(event, figures, rest: .isInDeadLetters)
      }
    } catch let error as RecordError {
      // The lane's Redis is closed: whoever reads the record again notes it.
      guard !lane.timers.isStopped else { throw RetryUntilStopped.Stopped() }
      // The error that makes a segment a dead letter may prevent this too.
      lane.log.warning(
        "the event does not say that a segment of it is a dead letter",
        .of(event, ["error": .text("\(error)")]))
    }
  }

  /// Adds to the statistics what they do not know yet. Counts that a crash loses are in the topic
  /// all the same.
  func count() async {
    if !uncounted.isEmpty {
      unanswered[String(lane.options.randomNumber(), radix: 36)] = uncounted
      uncounted = [:]
    }
    for (receipt, codes) in unanswered.sorted(by: { $0.key < $1.key }) {
      do {
        try await lane.record.countDeadLetters(codes, receipt: receipt, now: lane.now)
        unanswered[receipt] = nil
      } catch {
        // The next heartbeat tries again.
        return
      }
    }
  }
}
