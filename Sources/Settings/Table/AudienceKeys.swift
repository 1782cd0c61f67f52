extension SettingTable {
  static let audience: [SettingKey] = [
    .integer(
      "audience.page_size", \.audience.pageSize, default: 512, 16...4_096,
      "About how many recipients are fetched and rendered at a time. Below 16, round trips cost "
        + "more than pushes; above 4,096, a page takes megabytes in each lane. For large events on "
        + "a Redis Cluster, this is multiplied by the number of masters, up to 1,024 (or this "
        + "value if it is higher)."),
    .text(
      "audience.plain_set_key", \.audience.plainSetKey, example: "\"followers:{streamer}\"",
      .streamerPattern,
      "The key of the plain set in which another system keeps a streamer's followers. It is read "
        + "for streamers without shards."),
  ]
}
