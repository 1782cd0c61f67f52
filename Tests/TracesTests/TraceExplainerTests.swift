import Model
import Testing

@testable import Devices
@testable import Record
@testable import Traces

/// What follows from what is known: each state that an event, a user and a device can be in.
@Suite struct TraceExplainerTests {
  private static let app = "com.example.live"
  private static let began: Int64 = 1_000_000

  private static func binding(_ token: String, topic: String = app) -> Binding {
    Binding(destination: .production, topic: topic, token: token) ?? unusable
  }

  private static let unusable: Binding = {
    preconditionFailure("a token of these tests is none")
  }()

  /// A fan-out that is done, and a follower with one device, of whom nothing was noted.
  private static func facts(_ fields: [String: String] = [:]) -> TraceFacts {
    let usual = [
      "state": "done", "streamer": "s1", "template": "go-live", "plan": "generation:3",
      "segments": "4", "settled": "4", "accepted": "7", "trace": "failures",
      "started_ms": String(began), "done_ms": String(began + 5_000),
    ]
    var facts = TraceFacts(
      event: "e1", user: "u1",
      status: FanOutStatus(fields: usual.merging(fields) { $1 }))
    facts.follower = .shard(index: 2, of: 4)
    facts.segment = "3.2"
    facts.outcomes.isSettled = true
    facts.topic = app
    facts.devices.bound = [BoundDevice(binding: binding("aa01"), boundAt: began - 1)]
    return facts
  }

  private static func note(_ token: String, _ word: String, topic: String = app) -> TracedPush {
    TracedPush(
      device: DeviceMark.of(binding(token, topic: topic).member), word: word, at: began + 10,
      sends: 2)
  }

  private static func finding(
    _ fields: [String: String] = [:], _ change: (inout TraceFacts) -> Void = { _ in }
  ) -> Finding {
    var facts = facts(fields)
    change(&facts)
    return TraceExplainer(facts: facts).trace().finding
  }

  // MARK: the event

  /// Of a wave the users of other waves hear the same: which wave is whose is not known here.
  @Test(arguments: ["scheduled", "running"])
  func aReleaseInTheDeadLettersIsSaid(state: String) {
    let fields = ["state": state, "release_dead_letter": "unknown_template"]
    let finding = Self.finding(fields) { $0.outcomes.isSettled = false }
    #expect(finding.verdict == .lost && finding.reason == "dead-letter")
    let cancelled = Self.finding(fields.merging(["brake": "cancelled"]) { $1 }) {
      $0.outcomes.isSettled = false
    }
    #expect(cancelled.verdict != .lost)
  }

  @Test func whatWasSentToNobodyIsSaidOfTheEvent() {
    let expired = Self.finding(["state": "expired", "segments": "0"])
    #expect(expired.verdict == .notSent && expired.reason == "expired")
    let stopped = ["segments": "0", "brake": "cancelled", "brake_why": "cooldown"]
    #expect(Self.finding(stopped).verdict == .notSent)
    #expect(Self.finding(stopped).reason == "cooldown")
    let ended = stopped.merging(["brake_why": "stream ended"]) { $1 }
    #expect(Self.finding(ended).reason == "stream ended")
    #expect(Self.finding(["segments": "0", "plan": "none"]).verdict == .noFollowers)
  }

  // MARK: the user

  @Test func whoIsNotInTheEventsAudienceGetsNothing() {
    let finding = Self.finding {
      $0.follower = nil
      $0.isInAudience = false
    }
    #expect(finding.verdict == .notInAudience)
    // What was noted then says more than who has which tag now.
    let noted = Self.finding {
      $0.isInAudience = false
      $0.outcomes.pushes = [Self.note("aa01", "Unregistered")]
    }
    #expect(noted.verdict == .rejected)
    // A user whom the event names is known, if by nothing else.
    var named = TraceFacts(event: "e1", user: "u9", status: Self.facts().status)
    #expect(!named.knowsUser)
    named.isInAudience = true
    #expect(named.knowsUser)
    let nobody = Self.finding(["segments": "0", "plan": "none"]) { $0.isInAudience = false }
    #expect(nobody.verdict == .noFollowers && nobody.explanation.contains("audience"))
  }

  @Test func whoDoesNotFollowGetsNothing() {
    let finding = Self.finding { $0.follower = .nowhere }
    #expect(finding.verdict == .notFollowing && finding.explanation.contains("s1"))
    // What was noted then says more than who follows now.
    let noted = Self.finding {
      $0.follower = .nowhere
      $0.outcomes.pushes = [Self.note("aa01", "Unregistered")]
    }
    #expect(noted.verdict == .rejected && noted.reason == "Unregistered")
    // Nor where the event went by something else than followers.
    #expect(Self.finding { $0.follower = nil }.verdict == .presumablyAccepted)
  }

  @Test(arguments: SuppressionRule.allCases)
  func aRuleThatKeptItIsNamed(rule: SuppressionRule) {
    let finding = Self.finding {
      $0.outcomes.pushes = [TracedPush(device: 0, word: rule.name, at: 1, sends: 0)]
    }
    #expect(finding.verdict == .suppressed && finding.reason == rule.name)
    #expect(!finding.explanation.isEmpty && !finding.next.isEmpty)
  }

  @Test func whoWasPassedOverIsToldWhy() {
    let then = Self.finding {
      $0.outcomes.pushes = [TracedPush(device: 0, word: "skipped", at: 1, sends: 0)]
    }
    #expect(then.verdict == .skipped)
    let now = Self.finding {
      $0.unreadable = "SMEMBERS x: it is a list"
      $0.devices = UserDevices()
    }
    #expect(now.verdict == .skipped && now.explanation.contains("it is a list"))
  }

  @Test func whoHasNoDeviceOfTheTopicGetsNothing() {
    #expect(Self.finding { $0.devices.bound = [] }.verdict == .noDevice)
    let other = Self.finding {
      $0.devices.bound = [
        BoundDevice(binding: Self.binding("aa01", topic: "com.example.other"), boundAt: nil)
      ]
    }
    #expect(other.verdict == .otherTopic && other.reason == Self.app)
    let aside = Self.finding {
      $0.devices.bound = []
      $0.devices.setAside =
        QuarantinedDevice(
          user: "u1", member: Self.binding("aa01").member, value: "BadDeviceToken 7"
        ).map { [$0] } ?? []
    }
    #expect(aside.verdict == .setAside && aside.reason == "BadDeviceToken")
  }

  // MARK: the device

  @Test(
    arguments: [
      ("accepted", TraceVerdict.accepted, ""), ("expired", .expired, ""),
      ("cancelled", .cancelled, ""), ("device", .suppressed, "device"),
      ("Unregistered", .rejected, "Unregistered"), ("BadDeviceToken", .rejected, "BadDeviceToken"),
      ("OfTomorrow", .rejected, "OfTomorrow"),
    ])
  func whatWasNotedIsSaid(word: String, verdict: TraceVerdict, reason: String) {
    var facts = Self.facts()
    facts.outcomes.pushes = [Self.note("aa01", word)]
    let trace = TraceExplainer(facts: facts).trace()
    #expect(trace.finding.verdict == verdict && trace.finding.reason == reason)
    #expect(trace.devices.map(\.at) == [Self.began + 10] && trace.devices[0].sends == 2)
    #expect(trace.devices[0].apnsID(of: "e1")?.utf8.count == PushIdentifier.length)
  }

  /// Apple knows nothing of a push that no worker sent.
  @Test func whatWasNotSentHasNoIdentifier() {
    var facts = Self.facts()
    let note = Self.note("aa01", "device")
    facts.outcomes.pushes = [
      TracedPush(device: note.device, word: note.word, at: note.at, sends: 0)
    ]
    let device = TraceExplainer(facts: facts).trace().devices[0]
    #expect(device.finding.verdict == .suppressed && device.apnsID(of: "e1") == nil)
  }

  @Test(arguments: RejectionReason.ours + RejectionReason.all(of: .apns))
  func everyReasonHasWordsAndAnAdvice(reason: RejectionReason) {
    let finding = Self.finding { $0.outcomes.pushes = [Self.note("aa01", reason.name)] }
    #expect(finding.verdict == .rejected && finding.reason == reason.name)
    #expect(!finding.explanation.isEmpty && !finding.next.isEmpty)
  }

  @Test func whatWaitsHasALastWordOnceAllIsOver() {
    let waiting: (inout TraceFacts) -> Void = {
      $0.outcomes.pushes = [Self.note("aa01", "waiting")]
    }
    #expect(Self.finding(["state": "running"], waiting).verdict == .waiting)
    #expect(Self.finding([:], waiting).verdict == .notKept)
  }

  @Test func aDeviceThatIsGoneIsStillToldOf() {
    var facts = Self.facts()
    facts.devices.bound = []
    facts.outcomes.pushes = [Self.note("aa01", "Unregistered")]
    let trace = TraceExplainer(facts: facts).trace()
    #expect(trace.finding.verdict == .rejected)
    #expect(trace.devices.map(\.state) == [.gone] && trace.devices[0].binding == nil)
  }

  @Test func theBestOfSeveralDevicesSpeaksForTheUser() {
    var facts = Self.facts()
    facts.devices.bound = ["aa01", "aa02", "aa03"].map {
      BoundDevice(binding: Self.binding($0), boundAt: 1)
    }
    facts.outcomes.pushes = [Self.note("aa01", "expired"), Self.note("aa03", "accepted")]
    let trace = TraceExplainer(facts: facts).trace()
    #expect(trace.finding.verdict == .accepted)
    #expect(trace.devices.map(\.finding.verdict) == [.expired, .presumablyAccepted, .accepted])
    // Also one of which nothing was noted.
    facts.outcomes.pushes = [Self.note("aa01", "device"), Self.note("aa02", "device")]
    #expect(TraceExplainer(facts: facts).trace().finding.verdict == .presumablyAccepted)
  }

  // MARK: nothing was noted

  @Test func whatIsNotKeptIsNotClaimed() {
    #expect(Self.finding().verdict == .presumablyAccepted)
    #expect(Self.finding(["trace": ""]).verdict == .notKept)
    let omitted = Self.finding(["trace_omitted": "12"])
    #expect(omitted.verdict == .notKept && omitted.explanation.contains("12"))
    #expect(Self.finding(["trace": "all"]).verdict == .notAddressed)
    #expect(Self.finding(["accepted": "0"]).verdict == .notAddressed)
  }

  @Test func aDeviceThatCameLaterIsKnownByItsTime() {
    let finding = Self.finding {
      $0.devices.bound = [BoundDevice(binding: Self.binding("aa01"), boundAt: Self.began + 3_000)]
    }
    #expect(finding.verdict == .boundLater && finding.explanation.contains("3s"))
  }

  // MARK: nothing is decided

  @Test func whatIsNotSettledIsNotOver() {
    func open(_ fields: [String: String], dead: Set<String> = []) -> Finding {
      Self.finding(fields) {
        $0.outcomes.isSettled = false
        $0.outcomes.deadLetters = dead
      }
    }
    #expect(open(["state": "running"]).verdict == .running)
    #expect(open(["state": "running", "brake": "paused"]).verdict == .paused)
    #expect(open(["state": "running", "brake": "cancelled"]).verdict == .cancelled)
    let paused = open(["state": "running", "brake": "paused"])
    #expect(paused.explanation == "the fan-out is paused")
    let toldWhy = open(["state": "running", "brake": "paused", "brake_why": "typo in the text"])
    #expect(toldWhy.explanation == "the fan-out is paused: typo in the text")
    for part in ["3.2", "event", "plan"] {
      #expect(open(["state": "running"], dead: [part]).reason == "dead-letter")
    }
    #expect(open(["state": "running"], dead: ["3.1"]).verdict == .running)
    #expect(open(["state": "incomplete"]).verdict == .lost)
    #expect(open(["state": "done"]).verdict == .lost)
  }
}
