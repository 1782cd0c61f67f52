package struct AudienceWriterOptions: Sendable {
  /// Users whose commands go out together, about six commands each.
  package var rowsPerPage: Int
  /// Followers gathered before they are written shard by shard, so that one SADD carries many.
  package var followersPerFlush: Int
  /// Members asked of one SSCAN.
  package var scanCount: Int

  package init(rowsPerPage: Int = 1_000, followersPerFlush: Int = 16_384, scanCount: Int = 1_000) {
    self.rowsPerPage = max(1, rowsPerPage)
    self.followersPerFlush = max(1, followersPerFlush)
    self.scanCount = max(1, scanCount)
  }
}
