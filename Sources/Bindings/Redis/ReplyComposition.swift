/// Replies put together of pieces of others, as if one pipeline had been answered so.
package struct ReplyComposition {
  private var gathered: GatheredReplies

  /// - Parameter count: replies in the composition.
  package init(count: Int) { gathered = GatheredReplies(count: count) }

  /// The reply to a command is this one, which may be an element of another.
  package mutating func set(_ command: Int, to reply: RedisReply) {
    gathered.set(command, to: reply)
  }

  /// What a command has no reply of is null.
  package consuming func replies() -> RedisReplies { RedisReplies(gathered) }
}
