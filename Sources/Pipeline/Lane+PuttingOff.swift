import Deliver
import Ingest
import Kafka
import Model
import Telemetry
import Text

/// Records of stragglers that cannot be worked on yet. They go to the end of their topic as they
/// are, under the same id, where they hold up neither an offset nor the stragglers behind them.
extension Lane {
  /// Records on their way to the end of the topic that hold no place meanwhile. Enough that a lane
  /// puts off thousands a second at 10 ms a write; at 128 KiB each 16 MiB.
  static let maximumPuttingOff = 128
  /// Records of a worker that wait in memory for a last try, since Kafka's order would have them
  /// come too late.
  static let maximumLastTries = 64
  /// The longest that a record waits so: its offset cannot be committed meanwhile.
  private static let longestLastTry: Duration = .seconds(10)
  /// Lists with pushes that were not refused, of one route, that are worked on while credentials
  /// are held: one push asks each half second, and a list stays for two (`straggleAfter`).
  private static let maximumAsking = 4
  /// Bytes of the lists of a slow environment that are worked on at a time: some 2,000 pushes.
  private static let maximumSlowBytes = 4 * IngestOptions.stragglerBytes
  /// Lifetimes of a claim after its expiry that an event's segments may still need to settle.
  private static let lifetimesAfterExpiry = 6

  /// A list whose route is closed as this lane sees it rests again, unread: claiming, reading and
  /// rendering it would come to nothing, and keep those waiting whose routes are open. One list at
  /// a time is worked on all the same, so that something asks whether the route is open again; it
  /// goes behind the others then, and another one asks next. A list whose pushes were not all
  /// refused need not stand behind those that were: Apple may take it and not them.
  func straggle(_ message: KafkaMessage, _ vacate: @escaping () -> Void) async throws -> Receipt {
    let label = labels.complete(of: message)
    guard let route = label.route, let expiresAt = label.expiresAt,
      times.left(until: expiresAt) > StragglerTimes.lastTryBeforeExpiry * 3 / 2
    else { return try await work(message, vacate) }
    if let time = label.askAgainAt, time > options.deliver.wallClock() {
      return try await putOff(message, label, vacate)
    }
    guard deliver.isClosed(route) else {
      guard deliver.yields(route.environment) else { return try await work(message, vacate) }
      return try await workSlowly(message, label, route.environment, vacate)
    }
    let probe = Probe(route: route, isRefused: label.isRefused)
    let limit = !label.isRefused && deliver.isHeld(route) ? Self.maximumAsking : 1
    if probing[probe, default: 0] < limit {
      probing[probe, default: 0] += 1
      defer {
        probing[probe, default: 1] -= 1
        if probing[probe] == 0 { probing[probe] = nil }
      }
      return try await work(message, vacate)
    }
    return try await putOff(message, label, vacate)
  }

  /// What waits for a slow route needs no place meanwhile. Of its lists as much is worked on as
  /// keeps it busy until the others come again, which rest unread.
  private func workSlowly(
    _ message: KafkaMessage, _ label: StragglerLabel, _ environment: APNsEnvironment,
    _ vacate: @escaping () -> Void
  ) async throws -> Receipt {
    let bytes = message.valueBytes
    let others = slowly[environment, default: 0]
    guard others == 0 || others + bytes <= Self.maximumSlowBytes else {
      return try await putOff(message, label, vacate)
    }
    slowly[environment] = others + bytes
    defer { slowly[environment, default: bytes] -= bytes }
    vacate()
    return try await work(message, vacate)
  }

  /// - Parameter vacate: is called at once, unless very many are on their way: what waits for Kafka
  ///   needs no place.
  func putOff(
    _ message: KafkaMessage, _ label: StragglerLabel, _ vacate: () -> Void
  ) async throws -> Receipt {
    if let delay = lastTry(label) { return .again(after: delay) }
    if puttingOff < Self.maximumPuttingOff { vacate() }
    puttingOff += 1
    defer { puttingOff -= 1 }
    var label = label
    let delay = label.expiresAt.map { times.rest(until: $0) } ?? options.straggleDelay
    let now = options.deliver.wallClock()
    let unread = max(now - (label.notBefore ?? now), 0)
    label.writtenAt = labels.writtenAt(message, label) + unread
    label.notBefore = now + max(delay, .seconds(1)).wholeMilliseconds
    do {
      try await writer.publish(
        options.ingest.stragglersTopic, message.key, message.value, label.headers)
    } catch is KafkaError {
      // The broker takes less than it did.
      return .again(after: options.straggleDelay)
    }
    return .done
  }

  /// A record that would come back after its event's expiry waits here for its last try, as many as
  /// are bearable: in Kafka it would stand behind records that rest longer.
  private func lastTry(_ label: StragglerLabel) -> Duration? {
    guard let expiresAt = label.expiresAt else { return nil }
    let left = times.left(until: expiresAt) - StragglerTimes.lastTryBeforeExpiry
    guard left > .zero, left < options.straggleDelay, left <= Self.longestLastTry,
      lastTries < max(Self.maximumLastTries / options.lanes, 1)
    else { return nil }
    lastTries += 1
    loop.schedule(after: left) { [weak self] in self?.assumeIsolated { $0.lastTries -= 1 } }
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
    guard options.deliver.wallClock() < last else {
      throw IngestError(
        .unprocessable,
        "the segment that these pushes left was never settled, and their event is over")
    }
    options.log.debug(
      "stragglers put off: the segment that they left is not settled",
      ["event": .text(event.id), "segment": .text(segment.id)])
    return try await putOff(message, labels.complete(of: message), vacate)
  }
}
