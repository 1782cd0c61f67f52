/// How many places of each lane are taken, and who takes the next record: a pure machine. Each kind
/// has its own places, so that one giant fan-out does not delay a small one, and neither waits for
/// pushes that were tried in vain.
package struct LaneLoads: Sendable, Equatable {
  /// By `WorkKind.rawValue`.
  private let places: [Int]
  private var taken: [[Int]]

  package init(
    lanes: Int, eventPlaces: Int, segmentPlaces: Int, bulkPlaces: Int, stragglerPlaces: Int
  ) {
    places = [eventPlaces, segmentPlaces, bulkPlaces, stragglerPlaces]
    taken = Array(repeating: Array(repeating: 0, count: lanes), count: places.count)
  }

  /// The least busy lane with a free place for this kind, which is then taken; nil when all are
  /// full.
  package mutating func take(_ kind: WorkKind) -> Int? {
    let mine = taken[kind.rawValue]
    let free = mine.indices.filter { mine[$0] < places[kind.rawValue] }
    guard let least = free.min(by: { load($0) < load($1) }) else { return nil }
    taken[kind.rawValue][least] += 1
    return least
  }

  package mutating func giveBack(_ kind: WorkKind, lane: Int) {
    precondition(taken[kind.rawValue][lane] > 0, "a lane gave back more than it took")
    taken[kind.rawValue][lane] -= 1
  }

  package func hasRoom(_ kind: WorkKind) -> Bool {
    taken[kind.rawValue].contains { $0 < places[kind.rawValue] }
  }

  package var inFlight: Int { taken.reduce(0) { $0 + $1.reduce(0, +) } }

  package func inFlight(_ kind: WorkKind) -> Int { taken[kind.rawValue].reduce(0, +) }

  private func load(_ lane: Int) -> Int { taken.reduce(0) { $0 + $1[lane] } }
}
