extension SettingTable {
  static let audience: [SettingKey] = [
    .integer(
      "audience.page_size", \.audience.pageSize, default: 512, 16...4_096,
      "Recipients fetched and rendered at a time, about. Below 16 round trips cost more than "
        + "pushes; above 4,096 a page takes megabytes in each lane. Of large events on a Redis "
        + "Cluster a page is as many times larger as there are masters, but, unless this is, no "
        + "larger than 1,024."),
    .text(
      "audience.plain_set_key", \.audience.plainSetKey, example: "\"followers:{streamer}\"",
      .streamerPattern,
      "Where another system keeps a streamer's followers in one plain set, that set's "
        + "key; read for streamers that have no shards of their own."),
  ]
}
