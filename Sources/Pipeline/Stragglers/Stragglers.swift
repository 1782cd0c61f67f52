import Deliver
import EventLoop
import Ingest
import Kafka
import Model
import Record
import Render
import Telemetry
import Text

/// The stragglers of a lane: pushes that leave their segments without an outcome are written into
/// records, and records are worked on or go to the end of their topic again. Confined to its lane.
final class Stragglers {
  typealias Work = (KafkaMessage, LaneSlot) async throws -> Receipt

  /// Lifetimes of a claim after its expiry that an event's segments may still need to settle.
  private static let lifetimesAfterExpiry = 6

  private let lane: LaneContext
  private let runs: SegmentRuns
  private let labels: StragglerLabels
  private let times: StragglerTimes
  private var admission = StragglerAdmission()
  private var deferrals: DeferralCounts

  init(_ lane: LaneContext, runs: SegmentRuns) {
    self.lane = lane
    self.runs = runs
    labels = StragglerLabels(lane)
    times = lane.options.stragglerTimes
    deferrals = DeferralCounts(lanes: lane.options.lanes, delay: lane.options.straggleDelay)
  }

  // MARK: records that are read

  /// Has a record worked on, or defers it.
  func admit(_ message: KafkaMessage, _ slot: LaneSlot, work: Work) async throws -> Receipt {
    let label = labels.complete(of: message)
    let decision = admission.admit(
      label, bytes: message.valueBytes, left: label.expiresAt.map { times.left(until: $0) },
      now: lane.now, route: state(of: label, message))
    defer { admission.end(decision) }
    switch decision {
    case .deferred: return try await deferRecord(message, label, slot)
    case .workWithoutSlot: slot.release()
    case .work, .probe: break
    }
    return try await work(message, slot)
  }

  private func state(
    of label: StragglerLabel, _ message: KafkaMessage
  ) -> StragglerAdmission.RouteState {
    guard let route = label.route else { return StragglerAdmission.RouteState() }
    let deliver = lane.deliver
    let fanOut = SegmentRecord.event(ofKey: message.key).flatMap(runs.fanOut)
    return StragglerAdmission.RouteState(
      isClosed: deliver.isClosed(route), isHeld: deliver.isHeld(route),
      isSlow: deliver.yields(route),
      isOutlier: fanOut.map { deliver.isOutlier($0, on: route) } ?? false)
  }

  // MARK: records that are deferred

  /// A record that cannot be worked on yet goes to the end of its topic as it is, under the same
  /// id, where it holds up neither an offset nor the stragglers behind it.
  ///
  /// - Parameter slot: is released at once, unless very many are on their way: what waits for Kafka
  ///   needs none.
  private func deferRecord(
    _ message: KafkaMessage, _ label: StragglerLabel, _ slot: LaneSlot
  ) async throws -> Receipt {
    if let delay = lastTry(label) { return .again(after: delay) }
    var label = label
    let delay = label.expiresAt.map { times.rest(until: $0) } ?? lane.options.straggleDelay
    let now = lane.now
    let unread = max(now - (label.notBefore ?? now), 0)
    label.writtenAt = label.timeWritten(message, now: now) + unread
    label.notBefore = now + max(delay, .seconds(1)).wholeMilliseconds
    return try await write(label, message.key, message.value, slot)
  }

  private func write(
    _ label: StragglerLabel, _ key: [UInt8]?, _ value: [UInt8]?, _ slot: LaneSlot
  ) async throws -> Receipt {
    if deferrals.begin() { slot.release() }
    defer { deferrals.end() }
    do {
      try await lane.writer.publish(lane.options.ingest.stragglersTopic, key, value, label.headers)
    } catch is KafkaError {
      // The broker takes less than it did.
      return .again(after: lane.options.straggleDelay)
    }
    return .done
  }

  /// The segment of a paused fan-out, or of one whose template is not loaded, rests like
  /// stragglers, also one that never came from their topic: it is worked on again when the fan-out
  /// goes on, a worker has the template, or its event has expired.
  func deferPaused(
    _ segment: Segment, _ message: KafkaMessage, _ slot: LaneSlot
  ) async throws -> Receipt {
    guard message.topic != lane.options.ingest.stragglersTopic else {
      let label = labels.complete(of: message)
      return try await deferRecord(message, label, slot)
    }
    let (key, value) = SegmentRecord.encode(segment)
    return try await write(labels.label(for: segment), key, value, slot)
  }

  /// The segment that these pushes left is not settled: it is read still, or its worker died, or
  /// Redis lost its mark. Nobody knows for how long. When the event is over and the mark has not
  /// come, no try will make it better.
  func deferUnplanned(
    _ segment: Segment, _ message: KafkaMessage, _ slot: LaneSlot
  ) async throws -> Receipt {
    let event = segment.event
    let last =
      event.expiresAt + (lane.options.claimLifetime * Self.lifetimesAfterExpiry).wholeMilliseconds
    guard lane.now < last else {
      throw IngestError(
        .unprocessable,
        "the segment that these pushes left was never settled, and their event is over")
    }
    lane.log.debug(
      "stragglers deferred: the segment that they left is not settled",
      .of(event, ["segment": .text(segment.id)]))
    return try await deferRecord(message, labels.complete(of: message), slot)
  }

  /// A record that would come back after its event's expiry waits here for its last try, as many as
  /// are bearable: in Kafka it would stand behind records that rest longer.
  private func lastTry(_ label: StragglerLabel) -> Duration? {
    guard let expiresAt = label.expiresAt else { return nil }
    let left = times.left(until: expiresAt) - StragglerTimes.lastTryBeforeExpiry
    guard deferrals.beginLastTry(in: left) else { return nil }
    lane.loop.schedule(after: left) { [weak self] in self?.deferrals.endLastTry() }
    return left
  }

  // MARK: pushes that leave a segment

  /// Writes the pushes that left without an outcome into records of their own; the segment's mark
  /// makes them count.
  func write(_ run: SegmentRun) async throws {
    let pushes = run.tally.stragglers
    run.tally.stragglers = []
    run.unwritten = pushes.count
    defer { run.unwritten = 0 }
    // The last is written first.
    var lists = Array(StragglerRecord.lists(pushes).reversed())
    while let list = lists.popLast() {
      let segment = run.segment.straggling(list, number: lane.options.randomNumber())
      let (key, value) = SegmentRecord.encode(segment)
      do {
        try await lane.writer.publish(
          lane.options.ingest.stragglersTopic, key, value, labels.label(for: segment).headers)
      } catch let error as KafkaError {
        // The broker's limit is below ours.
        let half = list.count / 2
        if half > 0 {
          lists += [Array(list[half...]), Array(list[..<half])]
        } else {
          giveUp(list[0], run, error)
        }
        continue
      }
      run.written.append(PlannedStragglers(segment))
      lane.counters.add(.stragglers, list.count)
    }
  }

  private func giveUp(_ push: Straggler, _ run: SegmentRun, _ error: KafkaError) {
    let reason: RejectionReason = push.history.mayHaveArrived ? .unanswered : .unwritable
    run.tally.settlePostponed(push, as: .rejected(reason))
    lane.log.error(
      "a push that must wait is given up: Kafka takes no record as large as its event's",
      .of(
        run.segment.event,
        [
          "user": .text(push.user),
          "error": .text("\(error)"),
        ]))
  }
}

/// The headers of straggler records, written and read. Confined to its lane.
struct StragglerLabels {
  private let lane: LaneContext

  init(_ lane: LaneContext) { self.lane = lane }

  /// Fills in labels that the record of an older worker lacks in its headers.
  func complete(of message: KafkaMessage) -> StragglerLabel {
    var label = StragglerLabel(message)
    guard label.route == nil || label.expiresAt == nil,
      case .segment(let segment) = lane.ingest.decode(message, now: lane.now),
      let list = segment.stragglers
    else { return label }
    let destinations = Destination.all.filter(list.destinations.contains)
    let routes = destinations.compactMap { route(of: segment.event, $0) }
    // Pushes of several routes wait only when all of these are closed.
    label.route = routes.first { !lane.deliver.isClosed($0) } ?? routes.first
    label.expiresAt = segment.event.expiresAt
    return label
  }

  /// Nil when this worker does not know the event's template.
  private func route(of event: Event, _ destination: Destination) -> PushRoute? {
    lane.render.template(named: event.template).map {
      PushRoute(destination: destination, topic: event.app + $0.pushType.topicSuffix)
    }
  }

  func label(for segment: Segment) -> StragglerLabel {
    let destinations = segment.stragglers?.destinations ?? []
    let now = lane.now
    let rest = lane.options.stragglerTimes.rest(until: segment.event.expiresAt)
    var label = StragglerLabel(
      route: destinations.count == 1
        ? destinations.first.flatMap { route(of: segment.event, $0) } : nil,
      notBefore: now + rest.wholeMilliseconds, writtenAt: now, expiresAt: segment.event.expiresAt)
    label.origin = EventOrigin(of: segment.event)
    if let time = segment.stragglers?.askAgainAt, time > now { label.askAgainAt = time }
    label.isRefused = segment.stragglers?.pushes.allSatisfy { $0.history.refusals > 0 } ?? false
    return label
  }
}

extension StragglerLabel {
  /// Of a record without a time, or with one to come, nobody knows its age: it begins now.
  /// - Parameter now: ms since 1970.
  func timeWritten(_ message: KafkaMessage, now: Int64) -> Int64 {
    if let writtenAt { return min(writtenAt, now) }
    return message.timestamp > 0 ? min(message.timestamp, now) : now
  }
}
