import EventLoop
import Ingest
import Model
import Record
import Telemetry

/// This worker's clock beside Redis', which all workers share. Neither refuses nor expires an event
/// for everybody where the two differ. Confined to its lane.
final class ClockWatch {
  /// So far apart the clocks are worth a line, whether or not an event is in between.
  private static let bearableDifference: Duration = .seconds(120)
  private static let lineInterval: Duration = .seconds(60)

  private let lane: LaneContext
  /// Of the lines on clocks that differ, one of which a minute names an event.
  private var nextLine: UInt64 = 0
  private var hasNamedEvent = false
  /// How far this worker's clock was ahead of Redis' when `compare` was called last, in ms.
  private(set) var ahead: Int64 = 0

  init(_ lane: LaneContext) { self.lane = lane }

  /// A worker whose clock is ahead must not call pushes expired that are not. One whose clock is
  /// behind takes Redis' word that they are (`SegmentRun.isLate`).
  func check(_ event: Event, redisTime: Int64) throws {
    let now = lane.now
    if !event.isExpired(at: now), event.isExpired(at: redisTime) {
      sayThatClockIsOff(now, redisTime, event)
    }
    if event.isExpired(at: now), !event.isExpired(at: redisTime) {
      throw RecordError.clocksDisagree(over: event, ours: now, redis: redisTime)
    }
  }

  /// Whether the event, which is early by this worker's clock, is so by Redis' too. Where it is
  /// not, this worker's clock is behind, and the event is as good as any.
  func isEarlyForRedis(_ event: Event) async throws -> Bool {
    let redisTime = try await lane.retry.persistent("ask Redis for the time", for: event) {
      try await lane.record.time()
    }
    guard !lane.ingest.isEarly(event, at: redisTime) else { return true }
    sayThatClockIsOff(lane.now, redisTime, event)
    return false
  }

  /// How far this worker's clock is ahead of Redis' in ms; less than 0: behind.
  func compare() async throws(RecordError) -> Int64 {
    let redisTime = try await lane.record.time()
    let now = lane.now
    if abs(now - redisTime) > Self.bearableDifference.wholeMilliseconds {
      sayThatClockIsOff(now, redisTime, nil)
    }
    ahead = now - redisTime
    return ahead
  }

  private func sayThatClockIsOff(_ now: Int64, _ redisTime: Int64, _ event: Event?) {
    // A line about one event does not silence the others in the same minute.
    guard lane.loop.now >= nextLine || event != nil && !hasNamedEvent else { return }
    if lane.loop.now >= nextLine { hasNamedEvent = false }
    nextLine = lane.loop.now &+ Self.lineInterval.nanoseconds
    var fields: LogFields = ["milliseconds": .integer(Int(abs(now - redisTime)))]
    if let event {
      fields["event"] = .text(event.id)
      hasNamedEvent = true
    }
    let message =
      now < redisTime
      ? "this worker's clock is behind Redis', whose time counts; set the clocks (NTP)"
      : "this worker's clock is ahead of Redis', whose time counts; set the clocks (NTP)"
    lane.log.error(message, fields)
  }
}
