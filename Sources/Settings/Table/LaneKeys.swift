extension SettingTable {
  static let lanes: [SettingKey] = [
    .integer(
      "lanes.count", \.lanes.count, default: 0, 0...256,
      "The number of lanes. 0 means one for each processor that the process may use (affinity, the "
        + "control group's quota)."),
    .integer(
      "lanes.segments_per_lane", \.lanes.segmentsPerLane, default: 4, 1...64,
      "How many segments with untried pushes a lane works on at a time."),
    .size(
      "lanes.batch_bytes", \.lanes.batchBytes, default: 56 << 20, (16 << 20)...(4 << 30),
      "The memory for a lane's rendered pushes until they have their outcomes. Beyond it, each "
        + "segment renders one batch at a time."),
    .duration(
      "lanes.straggle_after", \.lanes.straggleAfter, default: .seconds(2),
      .milliseconds(100)...(.seconds(60)),
      "When all that is left of a segment are pushes that wait for another try, they become "
        + "stragglers after this time: they move to a record of their own."),
    .duration(
      "lanes.straggle_delay", \.lanes.straggleDelay, default: .seconds(5),
      .milliseconds(100)...minutes(15),
      "How long stragglers wait before they are tried again."),
    .duration(
      "lanes.claim_lifetime", \.lanes.claimLifetime, default: .seconds(10),
      .seconds(2)...minutes(5),
      "How long a worker's claim on a segment lasts. After a crash, others take over the segment "
        + "when the claim ends. A living worker renews its claims three times in this period."),
    .duration(
      "lanes.revoke_timeout", \.lanes.revokeTimeout, default: .seconds(5),
      .milliseconds(100)...(.seconds(30)),
      "How long a rebalance waits for work that this worker has begun. The worker finishes the "
        + "rest afterwards."),
    .duration(
      "lanes.drain_timeout", \.lanes.drainTimeout, default: .seconds(20), .seconds(1)...minutes(14),
      "How long a stopping worker may take to finish its work. It stays in its group meanwhile."),
  ]
}
