/// How Expand reads followers.
package struct ExpandOptions: Sendable {
  /// Users whose bindings and profile are fetched in one round trip. 512 is where a larger page no
  /// longer saves CPU; their replies are some 150 KB.
  package var pageSize: Int
  /// The key of a set that another system keeps, with `{streamer}` where the id goes, such as
  /// `followers:{streamer}`; read when a streamer has no shards. Nil: no such sets.
  package var plainSetKey: String?
  /// A shard with more members is read by SSCAN instead of in one reply, so that memory stays
  /// bounded when followers outgrow their shards.
  package var maximumShardMembers: Int
  /// A profile's value over this is left out and counted as skipped: no payload could hold it.
  package var maximumFieldBytes: Int
  /// A user whose bindings or profile take more memory in Redis is skipped when they do not fit a
  /// reply.
  package var maximumUserBytes: Int

  package init(
    pageSize: Int = 512, plainSetKey: String? = nil, maximumShardMembers: Int = 16_384,
    maximumFieldBytes: Int = 4_096, maximumUserBytes: Int = 1 << 20
  ) {
    self.pageSize = max(1, pageSize)
    self.plainSetKey = plainSetKey
    self.maximumShardMembers = max(1, maximumShardMembers)
    self.maximumFieldBytes = maximumFieldBytes
    self.maximumUserBytes = maximumUserBytes
  }
}
