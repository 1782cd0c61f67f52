import Ingest
import Model
import Telemetry

/// Stragglers whose time has come before their segment's.
extension Lane {
  /// Lifetimes of a claim after its expiry that an event's segments may still need to settle.
  private static let lifetimesAfterExpiry = 6

  /// The segment that these pushes left is not settled: it is read still, or its worker died, or
  /// Redis lost its mark. Nobody knows for how long, so the record goes to the end of its topic
  /// under the same id, where it holds up neither an offset nor the stragglers behind it. When the
  /// event is over and the mark has not come, no try will make it better.
  func putOff(_ segment: Segment) async throws -> Receipt {
    let event = segment.event
    let now = options.deliver.wallClock()
    let last =
      event.expiresAt + (options.claimLifetime * Self.lifetimesAfterExpiry).wholeMilliseconds
    guard now < last else {
      throw IngestError(
        .unprocessable,
        "the segment that these pushes left was never settled, and their event is over")
    }
    let delay = max(options.straggleDelay.wholeMilliseconds, 1000)
    let remaining = event.expiresAt - now - 1000
    let headers = [
      StragglerRecord.header(notBefore: now + (remaining > 0 ? min(delay, remaining) : delay))
    ]
    let (key, value) = SegmentRecord.encode(segment)
    try await publish(options.ingest.stragglersTopic, key, value, headers)
    options.log.debug(
      "stragglers put off: the segment that they left is not settled",
      ["event": .text(event.id), "segment": .text(segment.id)])
    return .done
  }
}
