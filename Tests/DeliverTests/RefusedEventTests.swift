import EventLoop
import Model
import Testing

@testable import Deliver

/// An event of which Apple says that every device has had too many, while others are taken.
@Suite struct RefusedEventTests {
  private let event = FanOut()
  private let other = FanOut()

  private func refuse(_ attribution: inout OutlierDetection, _ times: Int, isAgain: Bool = false) {
    for _ in 0..<times { attribution.deviceRefused(event, isAgain: isAgain, at: 1) }
  }

  @Test func oneOfWhichNearlyAllDevicesAreRefusedIsRefusedItself() {
    var attribution = OutlierDetection()
    refuse(&attribution, 9)
    #expect(!attribution.isRefused(event))
    refuse(&attribution, 1)
    #expect(attribution.isRefused(event) && !attribution.isRefused(other))
    refuse(&attribution, 1_000)
    attribution.taken(event)
    #expect(attribution.isRefused(event))
    // What is refused when others of it are taken again is up to the device.
    for _ in 0..<10 { attribution.taken(event) }
    #expect(!attribution.isRefused(event))
  }

  @Test func aPartOfItsDevicesIsUpToThem() {
    var attribution = OutlierDetection()
    for _ in 0..<100 {
      refuse(&attribution, 1)
      attribution.taken(event)
    }
    #expect(!attribution.isRefused(event))
    // Nor are a few that are tried over and over.
    refuse(&attribution, 1_000, isAgain: true)
    #expect(!attribution.isRefused(event))
  }

  private func push(of fanOut: FanOut) -> ReadyPush {
    ReadyPush(
      batch: .made(topic: "a.b", [.production], SegmentTally(of: fanOut)), index: 0,
      history: PushHistory())
  }

  /// It is tried again now and then, as one whose pushes end in errors of the server.
  @Test func itFailsByItselfWhileOthersAreTaken() {
    let traffic = RouteTraffic(DeliverOptions(wallClock: { 0 }))
    func fails(_ fanOut: FanOut) -> Bool { traffic.outliers.contains { $0 === fanOut } }
    let (bad, good) = (push(of: event), push(of: other))
    for _ in 0..<40 {
      var answers = AcceptedAnswers(rateSince: 0)
      for _ in 0..<10 {
        traffic.accepted(good, at: 1)
        answers.add(good, sentAt: 1)
      }
      traffic.note(answers, at: 1)
      traffic.refusedDevice(bad, sentAt: 1, at: 1)
    }
    #expect(traffic.deviceWeight(of: event) == 0 && fails(event))
    // A single device of another that is refused says it of itself.
    traffic.refusedDevice(good, sentAt: 1, at: 1)
    #expect(traffic.deviceWeight(of: other) == 100 && !fails(other))
    for _ in 0..<40 { traffic.accepted(bad, at: 1) }
    #expect(traffic.deviceWeight(of: event) > 0 && !fails(event))
  }

  /// Each was refused more than ten times by then.
  @Test func itsPushesAreTakenWhenAppleTakesThemAgain() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.retry = RetryPolicy(initial: .milliseconds(10), maximum: .milliseconds(40))
      }
      defer { bed.stop() }
      var refused = 0
      bed.server.decide = { request in
        guard request.token.hasPrefix("bad0"), refused < 105 else { return .answer(200) }
        refused += 1
        return .answer(429, #"{"reason":"TooManyRequests"}"#)
      }
      let bad = SegmentTally(of: FanOut())
      let limit = loop.now + 60_000_000_000
      var good = 0
      while bad.settled < 10, loop.now < limit {
        await bed.stage.admit(bed.batch(hexadecimal(20).map { (.production, $0) }, bed.tally))
        good += 20
        await bed.until("the others are accepted") { bed.tally.accepted == good }
        if good == 200 {
          let devices = hexadecimal(10).map { (Destination.production, "bad0" + $0) }
          await bed.stage.admit(bed.batch(devices, bad))
        }
        await loop.wait(.milliseconds(10))
      }
      #expect(bad.accepted == 10 && bad.rejections.isEmpty && refused == 105)
      #expect(bed.tally.rejections.isEmpty)
    }
  }
}
