/// How far two words are apart for somebody who types.
package enum EditDistance {
  /// Insertions, deletions, replacements and swaps of neighbours that make one of the other
  /// (optimal string alignment). Costs the product of their lengths.
  /// - Parameter limit: a larger distance may come out as any other above it, and is found sooner.
  package static func between<Words: RandomAccessCollection>(
    _ first: Words, _ second: Words, atMost limit: Int = .max
  ) -> Int where Words.Element: Equatable {
    let difference = abs(first.count - second.count)
    guard difference <= limit else { return difference }
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
      // No later row has less than the least of this one.
      if let least = current.min(), least > limit { return least }
      beforeLast = last
      last = current
    }
    return last[second.count]
  }
}
