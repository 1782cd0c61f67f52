import EventLoop
import Ingest
import Kafka
import Model
import Telemetry
import Text

/// Records of stragglers that cannot be worked on yet. They go to the end of their topic as they
/// are, under the same id, where they hold up neither an offset nor the stragglers behind them.
/// Confined to its lane.
final class StragglerDelays {
  /// Lifetimes of a claim after its expiry that an event's segments may still need to settle.
  private static let lifetimesAfterExpiry = 6

  private let options: PipelineOptions
  private let loop: EventLoop
  private let writer: RecordWriter
  private let labels: StragglerLabels
  private let times: StragglerTimes
  private var counts: PutOffCounts

  init(
    options: PipelineOptions, loop: EventLoop, writer: RecordWriter, labels: StragglerLabels,
    times: StragglerTimes
  ) {
    self.options = options
    self.loop = loop
    self.writer = writer
    self.labels = labels
    self.times = times
    counts = PutOffCounts(lanes: options.lanes, delay: options.straggleDelay)
  }

  func putOff(_ message: KafkaMessage, _ vacate: () -> Void) async throws -> Receipt {
    try await putOff(message, labels.complete(of: message), vacate)
  }

  /// - Parameter vacate: is called at once, unless very many are on their way: what waits for Kafka
  ///   needs no place.
  func putOff(
    _ message: KafkaMessage, _ label: StragglerLabel, _ vacate: () -> Void
  ) async throws -> Receipt {
    if let delay = lastTry(label) { return .again(after: delay) }
    var label = label
    let delay = label.expiresAt.map { times.rest(until: $0) } ?? options.straggleDelay
    let now = options.wallClock()
    let unread = max(now - (label.notBefore ?? now), 0)
    label.writtenAt = labels.writtenAt(message, label) + unread
    label.notBefore = now + max(delay, .seconds(1)).wholeMilliseconds
    return try await write(label, message.key, message.value, vacate)
  }

  private func write(
    _ label: StragglerLabel, _ key: [UInt8]?, _ value: [UInt8]?, _ vacate: () -> Void
  ) async throws -> Receipt {
    if counts.begin() { vacate() }
    defer { counts.end() }
    do {
      try await writer.publish(options.ingest.stragglersTopic, key, value, label.headers)
    } catch is KafkaError {
      // The broker takes less than it did.
      return .again(after: options.straggleDelay)
    }
    return .done
  }

  /// The segment of a paused fan-out, or of one whose template is not loaded, rests like
  /// stragglers, also one that never came from their topic: it is worked on again when the fan-out
  /// goes on, a worker has the template, or its event has expired.
  func putOffPaused(
    _ segment: Segment, _ message: KafkaMessage, _ vacate: () -> Void
  ) async throws -> Receipt {
    guard message.topic != options.ingest.stragglersTopic else {
      return try await putOff(message, labels.complete(of: message), vacate)
    }
    let (key, value) = SegmentRecord.encode(segment)
    return try await write(labels.label(for: segment), key, value, vacate)
  }

  /// A record that would come back after its event's expiry waits here for its last try, as many as
  /// are bearable: in Kafka it would stand behind records that rest longer.
  private func lastTry(_ label: StragglerLabel) -> Duration? {
    guard let expiresAt = label.expiresAt else { return nil }
    let left = times.left(until: expiresAt) - StragglerTimes.lastTryBeforeExpiry
    guard counts.beginLastTry(in: left) else { return nil }
    loop.schedule(after: left) { [weak self] in self?.counts.endLastTry() }
    return left
  }

  /// The segment that these pushes left is not settled: it is read still, or its worker died, or
  /// Redis lost its mark. Nobody knows for how long. When the event is over and the mark has not
  /// come, no try will make it better.
  func putOffUnplanned(
    _ segment: Segment, _ message: KafkaMessage, _ vacate: () -> Void
  ) async throws -> Receipt {
    let event = segment.event
    let last =
      event.expiresAt + (options.claimLifetime * Self.lifetimesAfterExpiry).wholeMilliseconds
    guard options.wallClock() < last else {
      throw IngestError(
        .unprocessable,
        "the segment that these pushes left was never settled, and their event is over")
    }
    options.log.debug(
      "stragglers put off: the segment that they left is not settled",
      ["event": .text(event.id), "segment": .text(segment.id)])
    return try await putOff(message, vacate)
  }
}

/// How many records of stragglers a lane puts off at the moment: a pure machine.
struct PutOffCounts {
  /// Records on their way to the end of the topic that hold no place meanwhile. Enough that a lane
  /// puts off thousands a second at 10 ms a write; at 128 KiB each 16 MiB.
  static let maximumOnTheirWay = 128
  /// Records of a worker that wait in memory for a last try, since Kafka's order would have them
  /// come too late.
  static let maximumLastTries = 64
  /// The longest that a record waits so: its offset cannot be committed meanwhile.
  static let longestLastTry: Duration = .seconds(10)

  private let delay: Duration
  private let maximumLastTries: Int
  private var onTheirWay = 0
  /// Records that wait in the pump for a last try.
  private var lastTries = 0

  /// - Parameter delay: how long records rest in Kafka.
  init(lanes: Int, delay: Duration) {
    self.delay = delay
    maximumLastTries = max(Self.maximumLastTries / lanes, 1)
  }

  /// A record sets out for the end of its topic. Whether it leaves its place meanwhile.
  mutating func begin() -> Bool {
    defer { onTheirWay += 1 }
    return onTheirWay < Self.maximumOnTheirWay
  }

  mutating func end() { onTheirWay -= 1 }

  /// Whether a record may wait in memory for its last try, which is due in `left`: not when it
  /// comes back from Kafka in time, and not for long.
  mutating func beginLastTry(in left: Duration) -> Bool {
    guard left > .zero, left < delay, left <= Self.longestLastTry, lastTries < maximumLastTries
    else { return false }
    lastTries += 1
    return true
  }

  mutating func endLastTry() { lastTries -= 1 }
}

/// When stragglers are tried again: it only reckons.
struct StragglerTimes: Sendable {
  /// The last try is so long before the expiry.
  static let lastTryBeforeExpiry: Duration = .seconds(1)

  /// How long stragglers rest.
  let delay: Duration
  /// In ms since 1970.
  let wallClock: @Sendable () -> Int64

  /// How long pushes rest that go to Kafka now: shorter than others at the end, so that they have a
  /// last try. After the expiry it is the same for all again.
  func rest(until expiresAt: Int64) -> Duration {
    let left = left(until: expiresAt) - Self.lastTryBeforeExpiry
    return left > .zero ? min(delay, left) : delay
  }

  func left(until expiresAt: Int64) -> Duration {
    .milliseconds(expiresAt - wallClock())
  }

  /// When a record of stragglers may be begun; 0: at once. Monotonic nanoseconds, as `now`.
  func due(_ message: KafkaMessage, now: UInt64) -> UInt64 {
    StragglerLabel(message).notBefore.map { now &+ rest(notBefore: $0).nanoseconds } ?? 0
  }

  /// Workers' clocks differ: a record rests no longer than the delay of its topic.
  func rest(notBefore due: Int64) -> Duration {
    min(.milliseconds(max(due - wallClock(), 0)), delay)
  }
}
