/// Numbers that several rules share, since they ask the same: how much shows something of a server
/// or of a fan-out, and for how long. Times are nanoseconds.
enum Evidence {
  /// So many pushes are not a matter of their devices. Fewer may be the last of a fan-out.
  static let fewestPushes = 10
  /// So large a part is as good as all.
  static let nearlyAll = 0.9
  /// After so long what a server or a fan-out did says nothing any more: it may have been mended.
  static let memory: UInt64 = 60_000_000_000
  /// Things that happen no longer apart have to do with each other.
  static let briefMemory: UInt64 = 10_000_000_000
  /// After so long it is worth asking again what may have changed by itself.
  static let askAgainAfter: UInt64 = 500_000_000
  /// So many pushes, or probe connections, ask a server at a time: others go on while one has no
  /// answer, and within one round trip one bad token is told from a bad key.
  static let mostAsking = 4
  /// Of the answers of a server so many are remembered.
  static let rememberedAnswers = 256
  /// A route remembers so many topics, and so many fan-outs: more than ever take turns.
  static let mostRemembered = 256
}
