/// Counts of the data that an erasure takes out of Redis, or would take out.
package struct ErasureCounts: Sendable, Equatable {
  package internal(set) var devices = 0
  package internal(set) var setAside = 0
  /// Tokens that nobody owns any more; before it is done, as many as there may be.
  package internal(set) var tokens = 0
  package internal(set) var profileFields = 0
  /// Events of the last hour that the user was let have.
  package internal(set) var reached = 0
  /// Words of Apple's on the user's devices, of the last minutes.
  package internal(set) var verdicts = 0
  /// Streamers whom the user followed.
  package internal(set) var follows = 0
  /// Tags that the user had; known only when it is looked everywhere.
  package internal(set) var tags = 0
  /// Streamers that were looked at to find those.
  package internal(set) var streamers = 0
  /// Places that no fan-out reads, in which the user stood still.
  package internal(set) var leftovers = 0
  /// Events of which it was kept what became of the user's pushes.
  package internal(set) var traces = 0
  /// Followers of the streamer who has the user's id.
  package internal(set) var audience = 0
  package internal(set) var hasErasedAudience = false
  /// Streamers and tags whose keys hold something else: nobody knows whether the user is in them.
  package internal(set) var unreadable = 0
  /// False when it was told to stop.
  package internal(set) var isComplete = true

  package init() {}

  /// Whether there was anything to take out.
  package var isEmpty: Bool {
    [devices, setAside, tokens, profileFields, reached, verdicts, follows, tags, leftovers, traces]
      .allSatisfy { $0 == 0 } && !hasErasedAudience
  }

  /// Returns the sum of two erasures of one user.
  package static func + (first: ErasureCounts, second: ErasureCounts) -> ErasureCounts {
    var sum = first
    sum.devices += second.devices
    sum.setAside += second.setAside
    sum.tokens += second.tokens
    sum.profileFields += second.profileFields
    sum.reached += second.reached
    sum.verdicts += second.verdicts
    sum.follows += second.follows
    sum.tags += second.tags
    sum.streamers += second.streamers
    sum.leftovers += second.leftovers
    sum.traces += second.traces
    sum.audience += second.audience
    sum.hasErasedAudience = first.hasErasedAudience || second.hasErasedAudience
    sum.unreadable += second.unreadable
    sum.isComplete = first.isComplete && second.isComplete
    return sum
  }
}
