import Text

/// Which known name somebody who mistyped one may have meant.
enum NearestName {
  /// `did you mean x?`, or nil when nothing is near.
  static func hint(for name: String, among known: [String]) -> String? {
    nearest(to: name, among: known).map { "did you mean \($0)?" }
  }

  /// The known name of least distance, at most a fifth of the name's length (2 at least); of paths,
  /// one that ends in the same word counts as near too.
  static func nearest(to name: String, among known: [String]) -> String? {
    // Longer names are no typing errors, and the distance costs the product of the lengths.
    guard name.utf8.count <= 128 else { return nil }
    let lowered = name.lowercased()
    let scored = known.map { ($0, EditDistance.between(Array(lowered), Array($0.lowercased()))) }
    guard let best = scored.min(by: { $0.1 < $1.1 }) else { return nil }
    if best.1 <= max(2, lowered.utf8.count / 5) { return best.0 }
    let leaf = lowered.split(separator: ".").last
    let sameLeaf = known.filter { $0.contains(".") && $0.split(separator: ".").last == leaf }
    return sameLeaf.count == 1 ? sameLeaf.first : nil
  }
}
