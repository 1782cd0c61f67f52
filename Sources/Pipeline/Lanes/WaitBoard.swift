/// What a lane waits for at the moment, in words, for the heartbeat. Confined to its lane.
final class WaitBoard {
  private var texts: [Int: String] = [:]
  private var lastNumber = 0

  /// Each text once, in the order in which the waits began.
  var all: [String] {
    texts.sorted { $0.key < $1.key }.reduce(into: []) { all, item in
      if !all.contains(item.value) { all.append(item.value) }
    }
  }

  func begin() -> Int {
    lastNumber += 1
    return lastNumber
  }

  func say(_ number: Int, _ text: String) { texts[number] = text }

  func end(_ number: Int) { texts[number] = nil }
}
