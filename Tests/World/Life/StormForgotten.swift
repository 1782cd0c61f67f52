import Keyspace
import MemoryRedis
import Model
import Record

/// Redis loses something of an event while workers settle its segments. The event says so, comes to
/// its end with what is left when nobody works on it any more, and is whole again when its record
/// is read once more.
final class StormForgotten {
  private enum Loss: CaseIterable { case mark, marks, hash }

  private let storm: Storm
  private var space: Keyspace { storm.world.keyspace }

  private static let source = "t/0/1"

  init(_ storm: Storm) { self.storm = storm }

  func run() {
    for loss in Loss.allCases {
      do { try lose(loss) } catch { storm.fail("\(loss) is lost: \(error)") }
    }
    storm.delete { $0.hasPrefix("ff:") || $0.contains("forgotten-") }
  }

  private func lose(_ loss: Loss) throws {
    let event = storm.event("forgotten-\(loss)", streamer: "forgotten-s")
    let audience = Model.Audience.sharded(shards: 4, generation: 1, followers: 4)
    let segments = audience.segments(of: event)
    func expect(_ state: String, _ when: String) {
      let found = storm.world.hash(space.event(id: event.id))["state"]
      if found != state { storm.fail("\(loss) is lost, \(when): it is \(found ?? "nothing")") }
    }
    _ = try open(event, audience)
    try settle(segments[0])
    try settle(segments[1])
    if storm.number(1...2) == 1 {
      try storm.ask(RecordOptions()) { try await $1.drop(["\(segments[1].id)~1"], of: event) }
    }
    switch loss {
    case .mark: _ = storm.world.ask("SREM", space.settled(id: event.id), segments[0].id)
    case .marks: _ = storm.world.ask("DEL", space.settled(id: event.id))
    case .hash: _ = storm.world.ask("DEL", space.event(id: event.id))
    }
    let now = storm.world.wallClock()
    let claim = Claim(segment: segments[3], owner: "w1/3")
    _ = try storm.ask(RecordOptions()) {
      try await $1.claim(claim, lifetime: .seconds(30), now: now)
    }
    if storm.number(1...2) == 1 {
      try settle(segments[2])
    } else {
      _ = try storm.ask(RecordOptions()) {
        try await $1.noteDeadLetter(
          of: .segment(segments[2]), event, code: "storm", source: Self.source, now: now)
      }
    }
    expect("running", "and somebody works on a segment")
    if storm.world.hash(space.event(id: event.id))["forgotten_ms"] == nil {
      storm.fail("\(loss) is lost, and the event does not know")
    }
    try settle(segments[3])
    // Without its hash alone the event has all its segments.
    let isWhole =
      loss == .hash && storm.world.holds(space.settled(id: event.id), segments[2].id)
    expect(isWhole ? "done" : "incomplete", "and nobody works on it any more")
    if isWhole { return }
    let result = try open(event, audience)
    guard case .resumed = result else {
      return storm.fail("\(loss) is lost, and who reads the event again hears \(result)")
    }
    for segment in segments { try settle(segment) }
    expect("done", "and all was done again")
  }

  private func open(_ event: Event, _ audience: Model.Audience) throws -> OpenResult {
    let now = storm.world.wallClock()
    return try storm.ask(RecordOptions()) {
      try await $1.open(
        event: event, audience: audience, source: Self.source, claim: nil, lifetime: .seconds(9),
        now: now
      ).result
    }
  }

  private func settle(_ segment: Segment) throws {
    let now = storm.world.wallClock()
    nonisolated(unsafe) let tally = SegmentTally()
    tally.count(.accepted, times: 1)
    _ = try storm.ask(RecordOptions()) {
      try await $1.settle(segment, tally, owner: "w1/1", now: now)
    }
  }
}
