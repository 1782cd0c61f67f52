import Ingest
import Kafka
import Threads

@testable import Pipeline

/// Stands for a lane: what it is given runs until a test says how it ended.
final class HeldLane: RecordRunner {
  let taskExecutor: (any TaskExecutor)? = nil
  struct Place: Hashable, Sendable {
    let partition: KafkaPartition
    let offset: Int64

    init(_ partition: KafkaPartition, _ offset: Int64) {
      self.partition = partition
      self.offset = offset
    }
  }

  private struct State {
    var begun: [Place] = []
    var messages: [Place: KafkaMessage] = [:]
    var open: [Place: [CheckedContinuation<Receipt, Never>]] = [:]
    var noted: [Place] = []
    var holdsNotes = false
    var recoveries: [UInt64] = []
    var recoveryDelay: Duration?
    var notes: [CheckedContinuation<Bool, Never>] = []
    var isOver = false
  }

  private let state = ThreadLock(State())

  func run(
    _ message: KafkaMessage, _ kind: WorkKind, releaseSlot: @escaping @Sendable () -> Void
  ) async -> Receipt {
    let place = Place(message.source, message.offset)
    return await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        state.begun.append(place)
        state.messages[place] = message
        if !state.isOver { state.open[place, default: []].append(continuation) }
        return state.isOver
      }
      if isOver { continuation.resume(returning: .notDone) }
    }
  }

  func noteDeadLetter(_ message: KafkaMessage, _ error: IngestError) async -> Bool {
    await withCheckedContinuation { continuation in
      let isHeld = state.withLock { state in
        state.noted.append(Place(message.source, message.offset))
        if state.holdsNotes { state.notes.append(continuation) }
        return state.holdsNotes
      }
      if !isHeld { continuation.resume(returning: true) }
    }
  }

  func recoverSegments(lostAt: UInt64) async -> Duration? {
    state.withLock { state in
      state.recoveries.append(lostAt)
      return state.recoveryDelay
    }
  }

  func clockAhead() async -> Duration? { nil }

  /// After which what a recovery has left is to be looked for; nil: it has left nothing.
  func deferRecoveries(for delay: Duration?) { state.withLock { $0.recoveryDelay = delay } }

  /// When records were found to be lost, of each recovery.
  var recoveries: [UInt64] { state.withLock { $0.recoveries } }

  /// As while Redis is away: what is told of dead letters stays unanswered.
  func holdNotes() { state.withLock { $0.holdsNotes = true } }

  private func endNotes(_ areNoted: Bool) {
    let ended = state.withLock { state in
      let all = state.notes
      state.notes = []
      state.holdsNotes = false
      return all
    }
    for continuation in ended { continuation.resume(returning: areNoted) }
  }

  func takeNotes() { endNotes(true) }

  /// Records that were told of as dead letters.
  var noted: [Place] { state.withLock { $0.noted } }

  /// In the order in which they began, each as often as it did.
  var begun: [Place] { state.withLock { $0.begun } }

  func message(at place: Place) -> KafkaMessage? { state.withLock { $0.messages[place] } }

  func count(_ place: Place) -> Int { begun.count { $0 == place } }

  /// Ends the run of a record that began first.
  func end(_ place: Place, _ receipt: Receipt = .done) {
    let ended = state.withLock { state -> CheckedContinuation<Receipt, Never>? in
      guard state.open[place]?.isEmpty == false else { return nil }
      return state.open[place]?.removeFirst()
    }
    ended?.resume(returning: receipt)
  }

  /// As a lane that stops.
  func stop() {
    let ended = state.withLock { state in
      let all = state.open.values.flatMap { $0 }
      state.open = [:]
      state.isOver = true
      return all
    }
    for continuation in ended { continuation.resume(returning: .notDone) }
    endNotes(false)
  }
}
