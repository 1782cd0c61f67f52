import Text

/// The name that was probably meant.
package enum Suggestion {
  /// The nearest candidate within a third of the word's length (at least one edit), or the only
  /// one that the word begins.
  package static func nearest(to word: String, among candidates: [String]) -> String? {
    guard !word.isEmpty, word.utf8.count <= 64 else { return nil }
    let limit = max(1, word.count / 3)
    let ranked = candidates.map {
      (name: $0, distance: EditDistance.between(Array(word), Array($0)))
    }
    let best = ranked.min { $0.distance < $1.distance }
    if let best, best.distance <= limit { return best.name }
    let begun = candidates.filter { $0.hasPrefix(word) }
    return begun.count == 1 ? begun[0] : nil
  }

  /// `; did you mean x?`, or nothing.
  static func question(for word: String, among candidates: [String], prefix: String = "") -> String
  {
    nearest(to: word, among: candidates).map { "; did you mean \(prefix)\($0)?" } ?? ""
  }
}
