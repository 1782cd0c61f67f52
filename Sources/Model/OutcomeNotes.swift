/// The outcomes of single pushes of one segment, and of users to whom nothing was sent, for later
/// questions about one person. Pushes that Apple accepted are many and are noted only where that is
/// asked for. Confined to one lane.
package final class OutcomeNotes {
  package enum Level: String, Sendable, CaseIterable {
    /// Only pushes that were not accepted.
    case failures
    /// Accepted pushes, too.
    case all
  }

  package struct Note {
    package let user: ByteSlice
    /// 0: it is about the user, and not about one device.
    package let device: UInt32
    package let fate: NotedFate
    /// How often the push was sent before its last word.
    package let sends: UInt16
    /// Ms since 1970.
    package let at: Int64
  }

  /// As many as a shard should have followers; a segment that has more (a plain set may be of any
  /// size) counts the others.
  package static let maximum = 2_048
  /// Of users' ids: 32 for each.
  private static let maximumIDBytes = maximum * 32

  /// The most that the notes of a segment take; each slot of a lane may have them.
  package static let maximumBytes = maximum * MemoryLayout<Note>.stride + maximumIDBytes

  package let level: Level
  /// Whether each accepted push is told: where all are kept, and where one may be noted as waiting.
  package let hearsAccepted: Bool
  package let bytes = ByteArena(capacity: 64)
  package private(set) var all: [Note] = []
  /// Those that there was no room for.
  package private(set) var omitted = 0
  private let now: () -> Int64

  /// - Parameters:
  ///   - isOfStragglers: its pushes may be noted as waiting by the segment that they left.
  ///   - now: ms since 1970.
  package init(_ level: Level, isOfStragglers: Bool = false, now: @escaping () -> Int64) {
    self.level = level
    self.now = now
    hearsAccepted = level == .all || isOfStragglers
  }

  /// Memory that the notes take.
  package var keptBytes: Int { bytes.capacity + all.capacity * MemoryLayout<Note>.stride }

  /// - Parameter member: what the user's set of bindings holds; nothing: the whole user.
  package func add(
    user: UnsafeRawBufferPointer, member: UnsafeRawBufferPointer, _ fate: NotedFate, sends: Int = 0
  ) {
    guard all.count < Self.maximum, bytes.count + user.count <= Self.maximumIDBytes else {
      omitted += 1
      return
    }
    all.append(
      Note(
        user: bytes.append(user), device: DeviceMark.of(member), fate: fate,
        sends: UInt16(clamping: sends), at: now()))
  }

  package func add(user: String, member: String, _ fate: NotedFate, sends: Int = 0) {
    var (user, member) = (user, member)
    user.withUTF8 { user in
      member.withUTF8 { member in
        add(
          user: UnsafeRawBufferPointer(user), member: UnsafeRawBufferPointer(member), fate,
          sends: sends)
      }
    }
  }
}

/// A short name of a device among its user's, which says nothing of its token.
package enum DeviceMark {
  /// 0 for no device; of a device something else. FNV-1a of its member.
  package static func of(_ member: UnsafeRawBufferPointer) -> UInt32 {
    guard !member.isEmpty else { return 0 }
    var mark: UInt32 = 0x811C_9DC5
    for byte in member { mark = (mark ^ UInt32(byte)) &* 0x0100_0193 }
    return mark == 0 ? 1 : mark
  }

  package static func of(_ member: String) -> UInt32 {
    var member = member
    return member.withUTF8 { of(UnsafeRawBufferPointer($0)) }
  }
}

/// The noted outcome of a push, or of a user.
package enum NotedFate: Sendable, Equatable {
  case outcome(Outcome)
  /// It left its segment and is tried again later.
  case waiting
  /// The user was passed over, because Redis held something else than the contract says.
  case skipped

  /// As Redis holds it: Apple's reason, or a word in small letters.
  package var name: String {
    switch self {
    case .outcome(.accepted): "accepted"
    case .outcome(.rejected(let reason)): reason.name
    case .outcome(.expired): "expired"
    case .outcome(.cancelled): "cancelled"
    case .outcome(.suppressed(let rule)): rule.name
    case .waiting: "waiting"
    case .skipped: "skipped"
    }
  }
}
