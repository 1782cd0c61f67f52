/// All the work of one event in one lane: its pushes take turns with those of others. Known by its
/// identity: the segments of an event share one.
package final class FanOut {
  /// It has one segment only: its pushes go before those of larger ones.
  package let isSmall: Bool
  /// A push of it was handed to a connection.
  package var isTried = false
  /// Nil while it may be sent.
  package var brake: Brake?

  package init(isSmall: Bool = false) { self.isSmall = isSmall }
}
