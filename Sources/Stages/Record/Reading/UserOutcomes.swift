/// What Redis holds of one user and one event.
package struct UserOutcomes: Sendable, Equatable {
  package var pushes: [TracedPush] = []
  /// Whether the user's segment is.
  package var isSettled = false
  /// Which of its record, the event's (`event`) and that of more segments (`plan`) are in the dead
  /// letters.
  package var deadLetters: Set<String> = []
  /// The event as it came; nil where it is not kept.
  package var document: [UInt8]?

  package init() {}
}
