import EventLoop
import Model
import Testing

@testable import Deliver

/// Backpressure: who waits, in which order, and that everybody goes on.
@Suite struct AdmissionTests {
  /// However long a busy machine takes to connect, and the test to let pushes go.
  private static func keepOpen(_ options: inout DeliverOptions) {
    options.closedAfter = .seconds(60)
    options.stalledAfter = .seconds(60)
  }

  /// A server that takes no push until `letGo`.
  private func closedBed(_ loop: EventLoop, readyPushes: Int = 100) throws -> DeliverBed {
    try DeliverBed(loop, prepare: { $0.options.maximumConcurrentStreams = 0 }) {
      $0.readyPushes = readyPushes
      Self.keepOpen(&$0)
    }
  }

  private func letGo(_ bed: DeliverBed, connections: Int = 2, streams: Int = 10) async {
    await bed.until("open") { bed.stage.openConnections == connections }
    for connection in bed.server.open + bed.sandbox.open {
      connection.session?.setMaximumConcurrentStreams(streams)
      connection.flush()
    }
  }

  @Test func admitsInTheOrderOfTheCallsAndNeverMuchMoreThanAllowed() async throws {
    try await onLoop { _, loop in
      let bed = try closedBed(loop)
      defer { bed.stop() }
      let queue = AdmissionLog(bed)
      for number in 0..<8 { await queue.admit(number, count: 60) }
      await bed.until("two are in") { queue.admitted.count == 2 }
      await loop.wait(.milliseconds(20))
      #expect(queue.admitted == [0, 1])
      #expect(bed.stage.readyCount == 120)
      await letGo(bed)
      await bed.until("all are in") { queue.admitted.count == 8 }
      #expect(queue.admitted == Array(0..<8))
      #expect(queue.most <= 100 + 60)
      await bed.until("all settled") { bed.settledBatches == 8 }
    }
  }

  /// Batches of a giant wait for each other; those of others have their share, and small ones a
  /// room of their own.
  @Test func nobodyWaitsBehindAnotherFanOut() async throws {
    try await onLoop { _, loop in
      let bed = try closedBed(loop)
      defer { bed.stop() }
      let queue = AdmissionLog(bed)
      let devices = hexadecimal(60).map { (destination: Destination.production, token: $0) }
      for number in 0..<16 { await queue.admit(number, count: 60) }
      let other = SegmentTally()
      for number in 30..<33 { await queue.admit(number, bed.batch(devices, other)) }
      let small = SegmentTally(of: FanOut(isSmall: true))
      for number in 40..<43 { await queue.admit(number, bed.batch(devices, small)) }
      await bed.until("those for whom there is room are in") { queue.admitted.count == 5 }
      await loop.wait(.milliseconds(20))
      #expect(queue.admitted == [0, 1, 30, 40, 41])
      await letGo(bed, streams: 1)
      await bed.until("all are in") { queue.admitted.count == 22 }
      // The giant is the last by far: some eight of its batches are in beside the other's three.
      #expect(queue.admitted.suffix(4) == [12, 13, 14, 15])
      #expect(queue.admitted.filter { $0 < 30 } == Array(0..<16))
      #expect(queue.most <= FairQueue.newcomersFactor * 100 + 100 + 2 * 60)
      await bed.until("all settled") { bed.settledBatches == 22 }
    }
  }

  /// Each of several brings a batch, and none of them can be sent.
  @Test func nobodyWaitsForWhatSeveralOthersCannotGetRidOf() async throws {
    try await onLoop { _, loop in
      let bed = try closedBed(loop)
      defer { bed.stop() }
      let queue = AdmissionLog(bed)
      let devices = hexadecimal(60).map { (destination: Destination.production, token: $0) }
      for number in 0..<6 { await queue.admit(number, bed.batch(devices, SegmentTally())) }
      await bed.until("all are in") { queue.admitted.count == 6 }
      await letGo(bed, streams: 100)
      await bed.until("all settled") { bed.settledBatches == 6 }
    }
  }

  /// A batch that waits for two environments is not passed by others of its fan-out, which would
  /// take up the room in one while there is none in the other.
  @Test func nobodyOvertakesWhoWaitsForBothEnvironments() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(
        loop, sandbox: .served, prepare: { $0.options.maximumConcurrentStreams = 0 }
      ) {
        $0.readyPushes = 100
        Self.keepOpen(&$0)
        $0.congestedAfter = .seconds(60)
      }
      defer { bed.stop() }
      bed.sandbox.options.maximumConcurrentStreams = 0
      let tokens = hexadecimal(120)
      let sandbox = tokens.map { (destination: Destination.sandbox, token: $0) }
      let mixed = tokens.enumerated().map {
        (destination: $0 % 2 == 0 ? Destination.production : .sandbox, token: $1)
      }
      let queue = AdmissionLog(bed)
      await queue.admit(0, bed.batch(sandbox, bed.tally))
      await queue.admit(1, bed.batch(mixed, bed.tally))
      await queue.admit(2, count: 60)
      await queue.admit(3, count: 0)
      await loop.wait(.milliseconds(20))
      #expect(queue.admitted == [0, 3])
      await letGo(bed, connections: 4)
      await bed.until("all are in") { queue.admitted.count == 4 }
      #expect(queue.admitted == [0, 3, 1, 2])
      await bed.until("all settled") { bed.settledBatches == 3 }
    }
  }

  @Test func keepsNobodyWaitingWhoBringsNothingForTheQueue() async throws {
    try await onLoop { _, loop in
      let bed = try closedBed(loop, readyPushes: 10)
      defer { bed.stop() }
      let queue = AdmissionLog(bed)
      await queue.admit(0, count: 10)
      await queue.admit(1, count: 10)
      for number in 2..<50 { await queue.admit(number, count: 0) }
      #expect(queue.admitted == [0] + Array(2..<50))
      await letGo(bed)
      await bed.until("all are in") { queue.admitted.count == 50 }
      await bed.until("all settled") { bed.settledBatches == 2 }
    }
  }

  @Test func letsEverybodyGoWhenItStops() async throws {
    try await onLoop { _, loop in
      let bed = try closedBed(loop, readyPushes: 10)
      let queue = AdmissionLog(bed)
      for number in 0..<5 { await queue.admit(number, count: 10) }
      await loop.wait(.milliseconds(5))
      bed.stop()
      await bed.until("all came back") { queue.admitted.count == 5 }
      #expect(bed.settledBatches == 0)
    }
  }
}
