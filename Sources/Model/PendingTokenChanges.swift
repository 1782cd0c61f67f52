/// What Apple said of the tokens of a segment and is not published yet, and what is noted of it in
/// Redis until it is.
package struct PendingTokenChanges: Sendable {
  package var news: [TokenNews] = []
  /// Texts of Record's own.
  package var notes: [String] = []
  /// When what is being written was noted, so that a repeated try notes the same.
  package var notedAt: Int64?

  package init() {}

  package var isEmpty: Bool { notes.isEmpty }
}
