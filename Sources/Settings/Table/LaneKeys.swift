extension SettingTable {
  static let lanes: [SettingKey] = [
    .integer(
      "lanes.count", \.lanes.count, default: 0, 0...256,
      "0 means one for each processor that the process may use: by its affinity, and by the quota "
        + "of its control group."),
    .integer(
      "lanes.segments_per_lane", \.lanes.segmentsPerLane, default: 4, 1...64,
      "Segments with pushes never tried that a lane works on at a time."),
    .size(
      "lanes.batch_bytes", \.lanes.batchBytes, default: 56 << 20, (16 << 20)...(4 << 30),
      "What the rendered pushes of a lane may take in memory while they are under way; beyond it "
        + "each segment renders one batch at a time."),
    .duration(
      "lanes.straggle_after", \.lanes.straggleAfter, default: .seconds(2),
      .milliseconds(100)...(.seconds(60)),
      "When a segment has nothing left but pushes that wait for another try, they become "
        + "stragglers after this: a record of their own."),
    .duration(
      "lanes.straggle_delay", \.lanes.straggleDelay, default: .seconds(5),
      .milliseconds(100)...minutes(15),
      "How long stragglers rest before they are tried again."),
    .duration(
      "lanes.claim_lifetime", \.lanes.claimLifetime, default: .seconds(10),
      .seconds(2)...minutes(5),
      "What a crashed worker was sending is taken over after this. A living one renews its claims "
        + "three times as often."),
    .duration(
      "lanes.revoke_timeout", \.lanes.revokeTimeout, default: .seconds(5),
      .milliseconds(100)...(.seconds(30)),
      "How long a rebalance waits for what this worker has begun; "
        + "the rest is finished afterwards."),
    .duration(
      "lanes.drain_timeout", \.lanes.drainTimeout, default: .seconds(20), .seconds(1)...minutes(14),
      "How long a stopping worker finishes what it began. It stays in its group meanwhile."),
  ]
}
