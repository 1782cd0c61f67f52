import Keyspace
import Rules

/// How Expand reads followers.
package struct ExpandOptions: Sendable {
  /// Users whose bindings and profile are fetched in one round trip, about; of large events on a
  /// cluster more. 512 is where one Redis' larger page no longer saves CPU; their replies are some
  /// 150 KB.
  package var pageSize: Int
  /// The key of a set that another system keeps, with `{streamer}` where the id goes, such as
  /// `followers:{streamer}`; read when a streamer has no shards. Nil: no such sets.
  package var plainSetKey: String?
  /// A shard with more members is read by SSCAN instead of in one reply, so that memory stays
  /// bounded when followers outgrow their shards.
  var maximumShardMembers: Int
  /// A profile's value over this is left out and counted as skipped: no payload could hold it.
  var maximumFieldBytes: Int
  /// The most memory of one reply: a page of users, a shard's members, a piece of a scan. A page of
  /// 512 users takes some 150 KB. Where a page takes more, fewer users are asked for at once; a
  /// user who does not fit alone is passed over. So for each place of a lane there are at most the
  /// ids of a shard, one reply and the page made of it, 3 × `maximumPageBytes`: with 26 places 156
  /// MiB a lane, if every one of them is as large as it may be.
  package var maximumPageBytes: Int
  /// Users of one set that are remembered while it is read by SSCAN, so that nobody is sent to
  /// twice when Redis is restarted meanwhile: at most 2 MiB a segment. Larger sets should be
  /// sharded.
  var maximumRememberedUsers: Int
  /// Whom an event may reach.
  package var rules: RecipientRules

  /// Users of a page of a large event: as many times more as there are masters among whom it is
  /// divided, since each exchange with a master costs as much however few it is asked for. No more
  /// than half a shard should hold: up to two pages are read in one piece.
  func pageSize(masters: Int) -> Int {
    max(pageSize, min(Keyspace.targetShardFollowers / 2, pageSize * masters))
  }

  /// The most that reading a segment keeps: the ids of a shard, a reply, the page made of it, and
  /// of a set that is read by SSCAN the users that were in it.
  package var maximumReaderBytes: Int {
    3 * maximumPageBytes + maximumRememberedUsers * Self.rememberedUserBytes
  }

  /// In a table that is never more than three quarters full.
  private static let rememberedUserBytes = 11

  package init(
    pageSize: Int = 512, plainSetKey: String? = nil, maximumShardMembers: Int = 16_384,
    maximumFieldBytes: Int = 4_096, maximumPageBytes: Int = 2 << 20,
    maximumRememberedUsers: Int = 196_608, rules: RecipientRules = RecipientRules()
  ) {
    self.pageSize = max(1, pageSize)
    self.plainSetKey = plainSetKey
    self.maximumShardMembers = max(1, maximumShardMembers)
    self.maximumFieldBytes = maximumFieldBytes
    self.maximumPageBytes = max(4_096, maximumPageBytes)
    self.maximumRememberedUsers = maximumRememberedUsers
    self.rules = rules
  }
}
