/// What one event feels of others.
extension Scenario {
  private static let other = World.otherApp

  static let neighbours: [Scenario] = [
    Scenario(
      "giant-beside-small", "one giant fan-out does not delay a small one",
      on: .beside(
        [ScenarioAudience(9, followers: 32_000, shards: 128)], streams: 300),
      events: [ScenarioEvent("giant", of: 9, disturbs: true)] + small,
      bounds: .onceEach + [
        .most(.ratio("small-1"), 1.5), .most(.ratio("small-2"), 1.5), .most(.ratio("medium"), 3),
        .least(.lastPush("giant"), 2.5),
      ]),
    Scenario(
      "giants-beside-small", "nor do several",
      on: .beside(
        (7...9).map { ScenarioAudience($0, followers: 7_000, shards: 128) }, streams: 300),
      events: (7...9).map { ScenarioEvent("giant-\($0)", of: $0, disturbs: true) } + small,
      bounds: .onceEach + [
        .most(.ratio("small-1"), 1.5), .most(.ratio("small-2"), 1.5), .most(.ratio("medium"), 3),
        // They are still in progress then.
        .least(.lastPush("giant-9"), 2),
      ]),
    Scenario(
      "64-segments-beside-4", "events of several segments take turns for places",
      on: .beside([ScenarioAudience(9, followers: 19_200, shards: 64)], streams: 300),
      events: [ScenarioEvent("large", of: 9, disturbs: true)] + small,
      bounds: .onceEach + [
        .most(.ratio("small-1"), 1.5), .most(.ratio("small-2"), 1.5),
        .most(.ratio("medium"), 3), .least(.lastPush("large"), 2),
      ]),
    Scenario(
      "large-ones-beside-4", "nor do many of its class delay one by more than their share",
      on: .beside(
        (5...9).map { ScenarioAudience($0, followers: 6_400, shards: 64) }, streams: 300),
      events: (5...9).map { ScenarioEvent("large-\($0)", of: $0, disturbs: true) } + small,
      bounds: .onceEach + [
        .most(.ratio("small-1"), 1.5), .most(.ratio("small-2"), 1.5), .most(.ratio("medium"), 9),
        .least(.lastPush("large-9"), 2),
      ]),
    Scenario(
      "sticky-app", "an app that is put off for ever delays no other",
      on: .beside(
        [
          ScenarioAudience(
            9, followers: 1_000, shards: 16, marked: [.init(every: 1, answer: "0429")],
            app: other)
        ], streams: 50),
      events: [ScenarioEvent("sticky", of: 9, expiresIn: 30, disturbs: true)] + small,
      bounds: .onceEach + [
        .most(.lastPush("small-1"), 2), .most(.lastPush("small-2"), 2), .most(.ratio("medium"), 2),
      ]),
    Scenario(
      "failing-event", "the others go on at full speed, and what failed is sent when it may be",
      on: .beside(
        [
          ScenarioAudience(9, followers: 3_000, shards: 16, marked: [.init(every: 1, head: "bad0")])
        ],
        streams: 50),
      events: [ScenarioEvent("failing", of: 9, disturbs: true)] + small,
      actions: [
        .at(
          .zero, .apple { $0.rules = [.init(prefix: "bad0", steps: [.init(.refuse(500))])] }),
        .at(.seconds(30), .appleIsWell),
      ],
      bounds: .onceEach + [
        .most(.lastPush("small-1"), 2), .most(.lastPush("small-2"), 2), .most(.ratio("medium"), 2),
        .most(.rejected("failing"), 30), .most(.lastPush("failing"), 45),
        .most(.counted("failing", field: "stragglers"), 400),
      ]),
    Scenario(
      "sandbox-opens", "all of a closed route is sent when it opens",
      on: .beside([ofSandbox], streams: 50) {
        $0.settings = [
          .stragglers(1, awaitingAnswers: 1),
          .straggle(after: .milliseconds(300), delay: .seconds(1)),
        ]
      },
      events: [ScenarioEvent("sandbox", of: 9, disturbs: true)] + small,
      actions: [
        .at(.zero, .sandbox { $0.isRefused = true }),
        .at(.seconds(20), .sandbox { $0.isRefused = false }),
      ],
      bounds: .onceEach + [
        .exactly(.rejected("sandbox"), 0), .exactly(.expired("sandbox"), 0),
        .most(.lastPush("sandbox"), 60),
      ]),
    Scenario(
      "refused-neighbour", "a push whose credentials are refused costs others less than a second",
      on: .beside(
        [ScenarioAudience(9, followers: 1, marked: [.init(every: 1, answer: "040f")])],
        streams: 50),
      events: [ScenarioEvent("refused", of: 9, expiresIn: 60, disturbs: true)] + small,
      bounds: .onceEach + [.most(.lastPush("small-1"), 1), .most(.ratio("medium"), 1.1)]),
    Scenario(
      "closed-sandbox", "a sandbox that cannot be reached delays production at most twofold",
      on: .beside(
        [ScenarioAudience(9, followers: 3_200, shards: 32, destination: .sandbox)], streams: 50),
      events: [ScenarioEvent("sandbox", of: 9, expiresIn: 20, disturbs: true)] + small,
      actions: [.at(.zero, .sandbox { $0.isRefused = true })],
      bounds: .onceEach + [
        .most(.ratio("small-1"), 1.5), .most(.ratio("small-2"), 1.5), .most(.ratio("medium"), 1.1),
        .exactly(.counted("medium", field: "stragglers"), 0),
        .exactly(.expired("sandbox"), 3_200),
      ]),
    Scenario(
      "slow-sandbox", "pushes of the other environment go on",
      on: .beside([ofSandbox], streams: 25),
      events: [ScenarioEvent("sandbox", of: 9, disturbs: true)] + small,
      actions: [.at(.zero, .sandbox { $0.delay = .seconds(1) ... .seconds(1) })],
      bounds: .onceEach + [
        .most(.ratio("small-1"), 1.5), .most(.ratio("small-2"), 1.5), .most(.ratio("medium"), 1.5),
        .exactly(.counted("medium", field: "stragglers"), 0), .most(.lastPush("sandbox"), 80),
        .exactly(.rejected("sandbox"), 0),
      ]),
    Scenario(
      "slow-sandbox-of-some", "an event that needs both ways does not wait on the slow one",
      on: .usual {
        var audience = ScenarioAudience(1, followers: 6_000, shards: 32, devices: 2)
        audience.isMixed = true
        $0.audiences = [audience]
      },
      actions: [.at(.zero, .sandbox { $0.delay = .seconds(1) ... .seconds(1) })],
      // The sandbox takes some 300 of them.
      bounds: .onceEach + [
        .exactly(.rejected("e1"), 0), .least(.requests("e1", 0...20), 6_000),
      ]),
    Scenario(
      "four-workers", "four workers are 3.8 times as fast as one",
      on: .usual { $0.workers = 4 }.slowed, reference: ScenarioSetUp.usual.slowed,
      bounds: .onceEach + [.most(.ratio("e1"), 1 / 3.8)]),
  ]

  private static let ofSandbox = ScenarioAudience(
    9, followers: 1_000, shards: 16, destination: .sandbox)

  /// Two events of one segment and one of several, while others are in progress.
  private static let small = [
    ScenarioEvent("small-1", of: 1, at: .milliseconds(600)),
    ScenarioEvent("small-2", of: 2, at: .milliseconds(1_140)),
    ScenarioEvent("medium", of: 3, at: .milliseconds(1_300)),
  ]
}

extension ScenarioSetUp {
  fileprivate static func beside(
    _ others: [ScenarioAudience], streams: Int, _ change: (inout ScenarioSetUp) -> Void = { _ in }
  ) -> ScenarioSetUp {
    usual {
      $0.streams = streams
      $0.audiences =
        [
          ScenarioAudience(1, followers: 20), ScenarioAudience(2, followers: 10, devices: 2),
          ScenarioAudience(3, followers: 2_000, shards: 4),
        ] + others
      change(&$0)
    }
  }

  /// With segments enough for four workers.
  fileprivate var slowed: ScenarioSetUp {
    var setUp = self
    setUp.streams = 4
    setUp.audiences = [ScenarioAudience(1, followers: 2_000, shards: 64)]
    return setUp
  }
}
