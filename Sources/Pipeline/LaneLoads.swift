/// What a record from Kafka asks of a lane.
package enum WorkKind: Sendable, Equatable, CaseIterable {
  /// A record of the events topic: a small fan-out, or the plan of a large one.
  case event
  /// A record of the segments topic.
  case segment
}

/// How much each lane has in flight, and who takes the next record: a pure machine, the bound of
/// every lane's mailbox. Each kind has its own places, so that one giant fan-out does not delay a
/// small one.
package struct LaneLoads: Sendable, Equatable {
  private let eventPlaces: Int
  private let segmentPlaces: Int
  private var events: [Int]
  private var segments: [Int]

  package init(lanes: Int, eventPlaces: Int, segmentPlaces: Int) {
    self.eventPlaces = eventPlaces
    self.segmentPlaces = segmentPlaces
    events = Array(repeating: 0, count: lanes)
    segments = Array(repeating: 0, count: lanes)
  }

  /// The least busy lane with a free place for this kind, which is then taken; nil when all are
  /// full.
  package mutating func take(_ kind: WorkKind) -> Int? {
    let free = events.indices.filter { load(kind, $0) < places(kind) }
    let least = free.min { events[$0] + segments[$0] < events[$1] + segments[$1] }
    guard let least else { return nil }
    change(kind, least, by: 1)
    return least
  }

  package mutating func giveBack(_ kind: WorkKind, lane: Int) {
    precondition(load(kind, lane) > 0, "a lane gave back more than it took")
    change(kind, lane, by: -1)
  }

  package func hasRoom(_ kind: WorkKind) -> Bool {
    events.indices.contains { load(kind, $0) < places(kind) }
  }

  package var inFlight: Int { events.reduce(0, +) + segments.reduce(0, +) }

  package func inFlight(_ kind: WorkKind) -> Int {
    (kind == .event ? events : segments).reduce(0, +)
  }

  private func places(_ kind: WorkKind) -> Int { kind == .event ? eventPlaces : segmentPlaces }

  private func load(_ kind: WorkKind, _ lane: Int) -> Int {
    kind == .event ? events[lane] : segments[lane]
  }

  private mutating func change(_ kind: WorkKind, _ lane: Int, by step: Int) {
    switch kind {
    case .event: events[lane] += step
    case .segment: segments[lane] += step
    }
  }
}
