/// News of a segment that were not told yet, and what is noted of them in Redis until they are.
package struct UntoldNews: Sendable {
  package var news: [TokenNews] = []
  /// Texts of Record's own.
  package var notes: [String] = []
  /// When what is being written was noted, so that a repeated try notes the same.
  package var notedAt: Int64?

  package init() {}

  package var isEmpty: Bool { notes.isEmpty }
}
