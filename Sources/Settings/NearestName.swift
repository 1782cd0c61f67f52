/// Which known name somebody who mistyped one may have meant.
enum NearestName {
  /// `did you mean x?`, or nil when nothing is near.
  static func hint(for name: String, among known: [String]) -> String? {
    nearest(to: name, among: known).map { "did you mean \($0)?" }
  }

  /// The known name of least distance, at most a third of the name's length (2 at least); of paths,
  /// one that ends in the same word counts as near too.
  static func nearest(to name: String, among known: [String]) -> String? {
    // Longer names are no typing errors, and the distance costs the product of the lengths.
    guard name.utf8.count <= 128 else { return nil }
    let lowered = name.lowercased()
    let scored = known.map { ($0, distance(Array(lowered.utf8), Array($0.lowercased().utf8))) }
    guard let best = scored.min(by: { $0.1 < $1.1 }) else { return nil }
    if best.1 <= max(2, lowered.utf8.count / 5) { return best.0 }
    let leaf = lowered.split(separator: ".").last
    let sameLeaf = known.filter { $0.contains(".") && $0.split(separator: ".").last == leaf }
    return sameLeaf.count == 1 ? sameLeaf.first : nil
  }

  /// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
  static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
    guard !one.isEmpty, !other.isEmpty else { return max(one.count, other.count) }
    var beforePrevious: [Int] = []
    var previous = Array(0...other.count)
    for row in 1...one.count {
      var current = [row]
      for column in 1...other.count {
        let cost = one[row - 1] == other[column - 1] ? 0 : 1
        var best = min(
          previous[column] + 1, current[column - 1] + 1, previous[column - 1] + cost)
        let isSwap =
          row > 1 && column > 1 && one[row - 1] == other[column - 2]
          && one[row - 2] == other[column - 1]
        if isSwap { best = min(best, beforePrevious[column - 2] + 1) }
        current.append(best)
      }
      (beforePrevious, previous) = (previous, current)
    }
    return previous[other.count]
  }
}
