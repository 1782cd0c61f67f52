import TestBed
import Testing

/// Workers that come and go in good order in the middle of a giant.
@Suite(.serialized) struct RollingTests {
  /// Nearly half of the session is for leaving: enough on a busy machine too. The embedded broker
  /// lets nobody join for a whole one after somebody left.
  private static let leaving = ["lanes.drain_timeout=6s", "kafka.session_timeout=13s"]

  @Test func scalingAndRestartingSendNothingTwice() async throws {
    let set = try await EnduranceBed.make(settings: Self.leaving)
    let giant = try await Crowd.large("giant", followers: 450_000, in: set.bed)
    try await set.fleet.start(["w1"])
    try await set.emit(giant)
    try await set.settled(0.03, of: giant)
    let more = ["w2", "w3", "w4"]
    try await set.fleet.start(more)
    try await set.settled(0.2, of: giant)
    // A rolling restart under the same names.
    for id in ["w1"] + more {
      #expect(await set.fleet.stop(id) == 0)
      try await set.fleet.start([id])
    }
    for id in more { #expect(await set.fleet.stop(id) == 0) }
    try await set.settled(0, of: giant)
    try await set.finished([giant])
    #expect(await set.fleet.stop("w1") == 0)
    let audit = try await Audit.take(of: [giant], in: set.bed)
    EnduranceBed.report(
      "1 worker, 4, each of them restarted, 1: of \(audit.pushes) pushes \(audit.lost) lost, "
        + "\(audit.duplicates) sent again")
    #expect(audit.lost == 0 && audit.duplicates == 0)
  }
}
