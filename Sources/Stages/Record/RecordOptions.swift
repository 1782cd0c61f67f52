import Model

/// Limits and lifetimes of Record. The lifetimes of keys are the Keyspace's.
package struct RecordOptions: Sendable {
  /// Verdicts that go to Redis in one round trip.
  package var verdictsAtOnce: Int
  /// Bindings are set aside as unusable only while Apple has taken, of the same app and
  /// environment, so many times as many pushes: otherwise the environment or the app that they are
  /// bound with is wrong, and so are we.
  var acceptedForEachUnusable: Int
  /// And at least so many: a handful of pushes proves nothing.
  var acceptedMinimum: Int
  /// Devices that Apple calls gone (410) stay where more than so many per cent of the last answers
  /// for their app and environment, of all workers, would remove one; 100: they never stay.
  package var removalShare = 20
  /// From so many answers on: of fewer there is no share to speak of.
  package var removalSamples = 10
  /// Older answers count half, and so on.
  package var removalWindow: Duration = .seconds(600)
  /// For so long after an event of a streamer, a next one of the same app and template is not sent;
  /// zero: each is.
  package var cooldown: Duration = .zero
  /// Of which pushes it is kept what became of them; nil: of none.
  package var trace: OutcomeNotes.Level? = .failures
  /// Of an event at most.
  package var traceMaximum = 100_000
  /// Whether changes of tokens are published, and noted until they are.
  package var tellsTokens = false
  /// How far the live backend's clock may be ahead of Redis'.
  var clockSkew = Event.clockSkew

  package init(
    verdictsAtOnce: Int = 256, acceptedForEachUnusable: Int = 4, acceptedMinimum: Int = 20
  ) {
    self.verdictsAtOnce = max(1, verdictsAtOnce)
    self.acceptedForEachUnusable = acceptedForEachUnusable
    self.acceptedMinimum = acceptedMinimum
  }

  /// Takes notes of what becomes of a segment's pushes.
  /// - Parameter now: ms since 1970.
  package func notes(of segment: Segment, now: @escaping () -> Int64) -> OutcomeNotes? {
    trace.map { OutcomeNotes($0, isOfStragglers: segment.stragglers != nil, now: now) }
  }
}
