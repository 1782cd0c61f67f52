/// Members in the order of their scores, those with the same score by their bytes.
struct SortedSet: Sendable {
  struct Element: Sendable {
    let score: Double
    let member: ByteString

    fileprivate func isBefore(_ other: Element) -> Bool {
      score != other.score ? score < other.score : member < other.member
    }
  }

  private var scores: [ByteString: Double] = [:]
  private(set) var elements: [Element] = []

  var count: Int { elements.count }

  func score(of member: ByteString) -> Double? { scores[member] }

  mutating func set(_ member: ByteString, _ given: Double) {
    // A small set of Redis' knows no negative zero.
    let score = given == 0 ? 0 : given
    if let old = scores[member] {
      guard old != score else { return }
      elements.remove(at: position(of: Element(score: old, member: member)))
    }
    scores[member] = score
    let element = Element(score: score, member: member)
    elements.insert(element, at: position(of: element))
  }

  mutating func remove(_ member: ByteString) -> Bool {
    guard let score = scores.removeValue(forKey: member) else { return false }
    elements.remove(at: position(of: Element(score: score, member: member)))
    return true
  }

  /// - Returns: how many went.
  mutating func removeAll(where isRemoved: (Double) -> Bool) -> Int {
    let before = elements.count
    for element in elements where isRemoved(element.score) { scores[element.member] = nil }
    elements.removeAll { isRemoved($0.score) }
    return before - elements.count
  }

  /// Where the element is, or belongs.
  private func position(of element: Element) -> Int {
    var low = 0
    var high = elements.count
    while low < high {
      let middle = (low + high) / 2
      if elements[middle].isBefore(element) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
