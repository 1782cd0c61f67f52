import APNsSimulator
import Deliver
import Model
import Pipeline

/// A situation that a fleet of workers meets, and how it has to come out of it: in virtual time, so
/// that figures are the same on each machine.
package struct Scenario: Sendable, CustomStringConvertible {
  package let name: String
  /// What the documents say of the situation.
  package let promise: String
  var setUp: ScenarioSetUp
  var events: [ScenarioEvent]
  var actions: [ScenarioAction]
  var bounds: [ScenarioBound]
  /// What it is compared with, where that is another fleet.
  var reference: ScenarioSetUp?
  /// Virtual time after the first event, in which all has to be settled.
  var limit: Duration

  init(
    _ name: String, _ promise: String, on setUp: ScenarioSetUp = .usual,
    events: [ScenarioEvent] = [ScenarioEvent("e1", of: 1)], actions: [ScenarioAction] = [],
    reference: ScenarioSetUp? = nil, limit: Duration = .seconds(1_200), bounds: [ScenarioBound]
  ) {
    self.name = name
    self.promise = promise
    self.setUp = setUp
    self.events = events
    self.actions = actions
    self.reference = reference
    self.limit = limit
    self.bounds = bounds
  }

  package var description: String { name }

  /// The same without what disturbs it: the time that it is compared with.
  var undisturbed: Scenario {
    var calm = self
    calm.setUp = reference ?? setUp
    calm.actions = []
    calm.events.removeAll(where: \.isDisturbance)
    let audiences = Set(calm.events.map(\.audience))
    calm.setUp.audiences.removeAll { !audiences.contains($0.number) }
    for index in calm.setUp.audiences.indices { calm.setUp.audiences[index].marked = [] }
    return calm
  }
}

/// Workers, Apple and followers when a scenario begins.
struct ScenarioSetUp: Sendable, Hashable {
  var workers = 1
  var lanes = 1
  /// Connections of a lane to Apple.
  var connections = 2
  /// Those that it has under load; nil: no more.
  var mostConnections: Int?
  /// Streams of each connection, by Apple's word.
  var streams = 16
  var latency: Duration = .milliseconds(60)
  var settings: [ScenarioSetting] = []
  var audiences = [ScenarioAudience(1, followers: 2_000, shards: 16)]
  var hasAllPlatforms: Bool { audiences.contains { $0.platforms != .apple } }

  /// Sends some 530 pushes a second, and its audience in four seconds.
  static let usual = ScenarioSetUp()

  static func usual(_ change: (inout ScenarioSetUp) -> Void) -> ScenarioSetUp {
    var setUp = usual
    change(&setUp)
    return setUp
  }
}

/// The followers of one streamer.
struct ScenarioAudience: Sendable, Hashable {
  /// Devices with an answer of their own.
  struct Marked: Sendable, Hashable {
    /// One follower in so many.
    let every: Int
    /// What their tokens begin with.
    let head: String
    /// Those of FCM and of browsers, too; else they are as all others.
    private(set) var isGoneElsewhere = false

    /// - Parameter answer: as `MagicTokens` has it: tries, 0 for all, and the code of the answer.
    init(every: Int, answer: String) { self.init(every: every, head: MagicTokens.prefix + answer) }

    init(every: Int, head: String) {
      self.every = every
      self.head = head
    }

    /// Each platform calls them gone.
    static func gone(every: Int) -> Marked {
      var marked = Marked(every: every, answer: "0410")
      marked.isGoneElsewhere = true
      return marked
    }

    var isForEver: Bool { head.hasPrefix(MagicTokens.prefix + "0") }
  }

  /// What devices are of.
  enum Platforms: Sendable, Hashable {
    case apple, fcm, webpush
    /// Of twenty devices eight are Apple's, nine FCM's, and three browsers.
    case mixed

    func platform(ofDevice index: Int) -> WorldPlatform {
      switch self {
      case .apple: .apple
      case .fcm: .fcm
      case .webpush: .webpush
      // Neighbours are of different ones.
      case .mixed: index * 7 % 20 < 8 ? .apple : index * 7 % 20 < 17 ? .fcm : .webpush
      }
    }
  }

  let number: Int
  let followers: Int
  /// Nil: as many as an import makes of them.
  var shards: Int?
  var devicesPerFollower = 1
  /// Each follower's last device is one of the sandbox.
  var isMixed = false
  var marked: [Marked] = []
  var app = World.app
  var destination = Destination.production
  var platforms = Platforms.apple
  /// When the devices were bound, as it stands in Redis; nil: a day ago.
  var boundAt: String?

  init(
    _ number: Int, followers: Int, shards: Int? = nil, devices: Int = 1, marked: [Marked] = [],
    app: String = World.app, destination: Destination = .production
  ) {
    self.number = number
    self.followers = followers
    self.shards = shards
    devicesPerFollower = devices
    self.marked = marked
    self.app = app
    self.destination = destination
  }

  /// Of names as long as many services have them.
  var hasLongNames = false

  var streamer: String { "s\(number)" + (hasLongNames ? String(repeating: "x", count: 50) : "") }
  /// Tokens of some push types are of a topic that has more behind it.
  var eventApp: String { [World.app, World.otherApp].first { app.hasPrefix($0) } ?? app }
  var devices: Int { followers * devicesPerFollower }

  func mark(ofDevice index: Int) -> Marked? {
    marked.first { index % $0.every == $0.every / 2 }
  }

  func token(ofDevice index: Int) -> String {
    ScenarioLedger.token(number, index, head: mark(ofDevice: index)?.head ?? "")
  }

  /// Devices that Apple accepts a push for, sooner or later.
  var goodDevices: Int {
    guard !marked.isEmpty else { return devices }
    return (0..<devices).count { mark(ofDevice: $0)?.isForEver != true }
  }
}

struct ScenarioEvent: Sendable, Hashable {
  let id: String
  /// The number of the audience that is told.
  let audience: Int
  /// After the first one.
  var at: Duration = .zero
  var expiresIn = 900
  /// Pushes of it that may go in a second.
  var rate: Int?
  /// Seconds ago that it had occurred when it was written.
  var ago = 0
  var template = "go-live"
  /// It is what others are disturbed by.
  var isDisturbance = false

  init(
    _ id: String, of audience: Int, at: Duration = .zero, expiresIn: Int = 900, rate: Int? = nil,
    ago: Int = 0, template: String = "go-live", disturbs: Bool = false
  ) {
    self.id = id
    self.audience = audience
    self.at = at
    self.expiresIn = expiresIn
    self.rate = rate
    self.ago = ago
    self.template = template
    isDisturbance = disturbs
  }

  /// Further members of its document, with a comma behind each.
  var more: String { rate.map { "\"pushes_per_second\":\($0)," } ?? "" }
}

/// A setting of workers that is not the usual one.
enum ScenarioSetting: Sendable, Hashable {
  /// The first pause before another try, and each.
  case retry(Duration)
  case drain(Duration)
  case claims(Duration)
  case straggle(after: Duration, delay: Duration)
  case batchPushes(Int)
  case batchBytes(Int)
  case readyPushes(Int)
  /// Pushes of the app that may go in a second.
  case rate(String, Int)
  case heartbeats(every: Duration)
  case trace
  /// Seconds since 1970 when the certificate ends.
  case certificateEnds(Int64)
  /// A second event of a streamer that comes so soon is not sent.
  case cooldown(Duration)
  /// Lists of stragglers in flight, and segments that may await their last answers without one.
  case stragglers(Int, awaitingAnswers: Int)
  /// Workers have no way to the sandbox.
  case withoutSandbox
  /// How long a topic waits whose credentials Apple has refused.
  case holdCredentials(Duration)
  /// What Apple says of so many devices is written at a time.
  case verdicts(Int)

  func apply(to options: inout PipelineOptions) {
    switch self {
    case .retry(let pause): options.deliver.retry = RetryPolicy(initial: pause, maximum: pause)
    case .drain(let time): options.drainTimeout = time
    case .claims(let time): options.claimLifetime = time
    case .straggle(let after, let delay):
      options.straggleAfter = after
      options.straggleDelay = delay
    case .batchPushes(let count): options.limits.batchPushes = count
    case .batchBytes(let count): options.limits.batchBytes = count
    case .readyPushes(let count): options.deliver.readyPushes = count
    case .rate(let app, let pushes): options.rates.apps[app] = pushes
    case .heartbeats(let interval): options.heartbeatInterval = interval
    case .trace: options.record.trace = .all
    case .certificateEnds(let time): options.credentialsExpireAt = { time }
    case .cooldown(let time): options.record.cooldown = time
    case .stragglers(let count, let awaiting):
      options.limits.stragglers = count
      options.limits.awaitingAnswers = awaiting
    case .withoutSandbox: options.deliver.routes[.sandbox] = nil
    case .holdCredentials(let time): options.deliver.credentialHold = time
    case .verdicts(let count): options.record.verdictsAtOnce = count
    }
  }
}
