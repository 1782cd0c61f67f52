import Text

/// The lines that two texts do not have in common, as `diff` writes them: `-` for a line of the
/// first alone, `+` for one of the second alone, a space for both.
package enum LineDiff {
  /// Longer texts are compared as wholes: the work grows with the product of both.
  private static let maximumLines = 2_000

  package static func lines(_ old: String, _ new: String) -> [String] {
    let (old, new) = (split(old), split(new))
    guard old.count <= maximumLines, new.count <= maximumLines else {
      return old.map { "-" + $0 } + new.map { "+" + $0 }
    }
    var isRemoved = Set<Int>()
    var isInserted = Set<Int>()
    let exactly = (old: old.map { ExactText($0) }, new: new.map { ExactText($0) })
    for change in exactly.new.difference(from: exactly.old) {
      switch change {
      case .remove(let offset, _, _): isRemoved.insert(offset)
      case .insert(let offset, _, _): isInserted.insert(offset)
      }
    }
    var lines: [String] = []
    var (left, right) = (0, 0)
    while left < old.count || right < new.count {
      if left < old.count, isRemoved.contains(left) {
        lines.append("-" + old[left])
        left += 1
      } else if right < new.count, isInserted.contains(right) {
        lines.append("+" + new[right])
        right += 1
      } else {
        lines.append(" " + old[left])
        left += 1
        right += 1
      }
    }
    return lines
  }

  private static func split(_ text: String) -> [String] {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if lines.last == "" { lines.removeLast() }
    return lines
  }
}
