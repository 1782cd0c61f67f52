import Model
import Record

/// Who has a segment, by all that was asked and answered: what a claim is to come to.
struct StormClaims {
  struct Part: Equatable {
    let owner: String
    /// Ms since 1970 by Redis' clock; 0: its owner let it go, and had sent some of it.
    var ends: Int64
  }

  struct Hold: Equatable {
    var own: Part
    /// Whose place it took.
    var former: Part?
  }

  private(set) var holds: [String: Hold] = [:]
  /// Lists that nobody will plan.
  private(set) var dropped: Set<String> = []

  /// No claim leads so far: Redis' clock was ahead when it was written.
  private static let farthest: Int64 = 310_000

  func isHeld(_ part: Part, at now: Int64) -> Bool {
    part.ends > now && part.ends <= now + Self.farthest
  }

  func isWorkedOn(_ segment: String, butBy owner: String, at now: Int64) -> Bool {
    holds[segment].map { $0.own.owner != owner && isHeld($0.own, at: now) } ?? false
  }

  func isAnyHeld(at now: Int64) -> Bool { holds.values.contains { isHeld($0.own, at: now) } }

  /// Whether an end is so near that nobody can say on which side of it a call will be.
  func isNearAnEnd(at now: Int64) -> Bool {
    holds.values.contains { abs($0.own.ends - now) < 150 }
  }

  /// What a claim says when nothing else is in its way, and what stands there then.
  mutating func claim(
    _ segment: String, by owner: String, for lifetime: Int64, at now: Int64
  ) -> (isYours: Bool, former: FormerOwner?) {
    var former: Part?
    if let held = holds[segment] {
      if held.own.owner == owner {
        former = held.former
      } else if isHeld(held.own, at: now) {
        return (false, nil)
      } else {
        former = held.own
      }
    }
    holds[segment] = Hold(own: Part(owner: owner, ends: now + lifetime), former: former)
    return (true, former.map { FormerOwner(name: $0.owner, hasReleased: $0.ends == 0) })
  }

  mutating func renew(
    _ segment: String, by owner: String, for lifetime: Int64, at now: Int64
  ) -> Renewal {
    guard let held = holds[segment] else {
      holds[segment] = Hold(own: Part(owner: owner, ends: now + lifetime))
      return .held
    }
    guard held.own.owner == owner else { return .another }
    holds[segment]?.own.ends = now + lifetime
    return .held
  }

  mutating func release(_ segment: String, by owner: String, hasSent: Bool) {
    guard let held = holds[segment], held.own.owner == owner else { return }
    let left = hasSent ? Part(owner: owner, ends: 0) : held.former
    holds[segment] = left.map { Hold(own: $0) }
  }

  mutating func end(_ segment: String) { holds[segment] = nil }

  mutating func drop(_ list: String) { dropped.insert(list) }
}
