/// The name that was probably meant.
package enum Suggestion {
  /// The nearest candidate within a third of the word's length (at least one edit), or the only
  /// one that the word begins.
  package static func nearest(to word: String, among candidates: [String]) -> String? {
    guard !word.isEmpty, word.utf8.count <= 64 else { return nil }
    let limit = max(1, word.count / 3)
    let ranked = candidates.map { (name: $0, distance: distance(word, $0)) }
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

  /// Edits from one word to the other: insert, delete, replace, or swap two neighbours (optimal
  /// string alignment).
  package static func distance(_ first: String, _ second: String) -> Int {
    let (first, second) = (Array(first), Array(second))
    var beforeLast: [Int] = []
    var last = Array(0...second.count)
    for row in first.indices {
      var current = [row + 1]
      for column in second.indices {
        let isSame = first[row] == second[column]
        var best = min(last[column + 1] + 1, current[column] + 1, last[column] + (isSame ? 0 : 1))
        if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
          best = min(best, beforeLast[column - 1] + 1)
        }
        current.append(best)
      }
      beforeLast = last
      last = current
    }
    return last[second.count]
  }
}
