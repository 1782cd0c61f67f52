import Model

/// What `RecordStage.open` found out about an event.
package enum OpenResult: Sendable, Equatable {
  /// Not seen before.
  case new
  /// Not seen before and done already: nobody follows the streamer.
  case empty([FanOutFigure])
  /// Not seen before, and not to be sent: its stream has ended, or the streamer's followers were
  /// told a short while ago.
  case stopped(String, [FanOutFigure])
  /// Redelivered before it was done. `plan` is the audience it was planned with: go on with that
  /// one, so that its settled marks keep their meaning when the followers were resharded in
  /// between. The first `published` of its segments are in Kafka.
  case resumed(plan: Audience, published: Int)
  /// Another record brought the same id before: drop it.
  case duplicate
  /// Redelivered after it was done or had expired: commit its offset.
  case finished
}
