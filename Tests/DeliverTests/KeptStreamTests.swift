import EventLoop
import Model
import Testing

@testable import Deliver

/// Streams that are kept for small fan-outs where large ones have all others.
@Suite struct KeptStreamTests {
  struct Expected {
    var streams: Int
    var inFlight: Int
    var small = 0
    var forAll: Int
    var forSmall: Int
  }

  @Test(arguments: [
    Expected(streams: 525, inFlight: 0, forAll: 500, forSmall: 525),
    Expected(streams: 525, inFlight: 499, forAll: 1, forSmall: 26),
    Expected(streams: 525, inFlight: 500, forAll: 0, forSmall: 25),
    Expected(streams: 525, inFlight: 525, forAll: 0, forSmall: 0),
    // Small ones use theirs, and none of the others'.
    Expected(streams: 525, inFlight: 515, small: 25, forAll: 10, forSmall: 10),
    // They use those of large ones, which get the next.
    Expected(streams: 525, inFlight: 515, small: 500, forAll: 10, forSmall: 10),
    // A server that took streams away.
    Expected(streams: 100, inFlight: 200, small: 10, forAll: 0, forSmall: 0),
    // Too few to keep one.
    Expected(streams: 20, inFlight: 19, forAll: 1, forSmall: 1),
    Expected(streams: 1, inFlight: 0, forAll: 1, forSmall: 1),
    Expected(streams: 0, inFlight: 0, forAll: 0, forSmall: 0),
  ])
  func capacity(of expected: Expected) {
    let capacity = StreamCapacity(
      streams: expected.streams, inFlight: expected.inFlight, small: expected.small)
    #expect(capacity.forAll == expected.forAll && capacity.forSmall == expected.forSmall)
  }

  /// What is configured is there for all.
  @Test(arguments: 1...1_200) func keptStreamsComeOnTop(streams: Int) {
    let all = StreamCapacity.streams(forAll: streams)
    #expect(StreamCapacity(streams: all, inFlight: 0, small: 0).forAll == streams)
  }

  private func small(_ bed: DeliverBed, _ count: Int) -> (batch: PushBatch, tally: SegmentTally) {
    let tally = SegmentTally(of: FanOut(isSmall: true))
    return (bed.batch(hexadecimal(count).map { (.production, "5" + $0) }, tally), tally)
  }

  private func bed(_ loop: EventLoop) throws -> DeliverBed {
    let bed = try DeliverBed(loop) {
      $0.connectionsPerRoute = 1
      $0.streamsPerConnection = 40
    }
    bed.server.holdsAnswers = true
    return bed
  }

  @Test func aSmallFanOutDoesNotWaitForALargeOnesAnswers() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      await bed.stage.admit(bed.batch(hexadecimal(60)))
      await bed.until("full") { bed.server.requests.count == 40 }
      let (batch, tally) = small(bed, 5)
      await bed.stage.admit(batch)
      await bed.until("the kept streams are used") { bed.server.requests.count == 42 }
      #expect(bed.stage.inFlight == 42 && bed.stage.readyCount == 23)
      bed.server.holdsAnswers = false
      bed.server.release()
      await bed.until("all") { bed.tally.accepted == 60 && tally.accepted == 5 }
    }
  }

  /// However many small ones there are.
  @Test func aLargeFanOutGoesOnBesideSmallOnes() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      let (batch, tally) = small(bed, 600)
      await bed.stage.admit(batch)
      await bed.until("full") { bed.server.requests.count == 42 }
      await bed.stage.admit(bed.batch(hexadecimal(40)))
      // Streams come free one by one.
      bed.server.holdsAnswers = false
      bed.server.release()
      await bed.until("all") { bed.tally.accepted == 40 && tally.accepted == 600 }
      let order = bed.server.requests.map { $0.token.hasPrefix("00") }
      #expect(order.lastIndex(of: true) ?? 640 < 400)
    }
  }

  /// Also where the large one is another app's, and so of another topic.
  @Test func keptStreamsAreForSmallOnesOfAnyTopic() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      await bed.stage.admit(bed.batch(hexadecimal(60)))
      await bed.until("full") { bed.server.requests.count == 40 }
      let others = [SegmentTally(of: FanOut(isSmall: true)), SegmentTally(), SegmentTally()]
      for (index, tally) in others.enumerated() {
        let devices = hexadecimal(3).map { (APNsEnvironment.production, "\(index + 5)" + $0) }
        await bed.stage.admit(bed.batch(devices, tally, topic: "a.\(index)"))
      }
      await bed.until("the kept streams are used") { bed.server.requests.count == 42 }
      bed.server.holdsAnswers = false
      bed.server.release()
      await bed.until("all") { others.allSatisfy { $0.accepted == 3 } && bed.tally.accepted == 60 }
    }
  }

  /// A stream that is kept is no sign of life.
  @Test func aServerThatTakesNothingFromALargeOneIsStalled() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.connectionsPerRoute = 1
        $0.streamsPerConnection = 20
        $0.stalledAfter = .milliseconds(50)
      }
      defer { bed.stop() }
      bed.server.holdsAnswers = true
      await bed.stage.admit(bed.batch(hexadecimal(40)))
      await bed.until("stalled") {
        bed.stage.openConnections == 1 && bed.stage.obstacles.contains { $0.kind == .unreachable }
      }
      bed.server.holdsAnswers = false
      bed.server.release()
      await bed.until("all") { bed.tally.accepted == 40 }
    }
  }

  private func append(_ count: Int, of fanOut: FanOut, to queue: inout ReadyQueue) {
    let environments = [APNsEnvironment](repeating: .production, count: count)
    _ = queue.append(.made(topic: "a.b", environments, SegmentTally(of: fanOut)))
  }

  private let small = TurnFilter(onlySmall: true)

  /// Of small fan-outs alone, in turns of two.
  private func next(_ queue: inout ReadyQueue) -> (fanOut: FanOut, count: Int)? {
    guard let run = queue.upcoming(atMost: 10, turn: 2, small) else { return nil }
    queue.drop(run, run.count)
    return (run.first.tally.fanOut, run.count)
  }

  @Test func smallOnesTakeTurnsOnWhatIsKept() throws {
    let (large, one, other) = (FanOut(), FanOut(isSmall: true), FanOut(isSmall: true))
    var queue = ReadyQueue(environment: .production)
    append(50, of: large, to: &queue)
    let upcoming = queue.upcoming(atMost: 4, turn: 10)
    let begun = try #require(upcoming)
    queue.drop(begun, begun.count)
    #expect(begun.count == 4 && !queue.mayGo(small))
    append(5, of: one, to: &queue)
    append(3, of: other, to: &queue)
    var sent: [ObjectIdentifier: [Int]] = [:]
    var order: [ObjectIdentifier] = []
    while queue.mayGo(small), let (fanOut, count) = next(&queue), order.count < 10 {
      order.append(ObjectIdentifier(fanOut))
      sent[ObjectIdentifier(fanOut), default: []].append(count)
    }
    #expect(sent[ObjectIdentifier(one)] == [2, 2, 1] && sent[ObjectIdentifier(other)] == [2, 1])
    #expect(order.count == 5 && order[0] != order[1])
    let none = next(&queue)
    #expect(none == nil)
    #expect(queue.count(of: large) == 46 && queue.count == 46)
  }
}
