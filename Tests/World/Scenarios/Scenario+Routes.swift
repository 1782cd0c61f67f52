import APNsSimulator
import Model

/// Events of both environments, and turns of many.
extension Scenario {
  static let routes: [Scenario] = [
    Scenario(
      "mixed-and-closed", "each device is asked on the way of its own environment",
      on: .mixed { _ in },
      actions: [
        .at(.zero, .sandbox { $0.isRefused = true }),
        .at(.seconds(20), .sandbox { $0.isRefused = false }),
      ],
      bounds: .onceEach + [
        .exactly(.requests("e1", 0...4), 400), .exactly(.requests("e1", 4...20), 0),
        .exactly(.requests("e1", 0...1_000), 800), .most(.lastPush("e1"), 60),
      ]),
    Scenario(
      "no-way-to-the-sandbox", "what no worker has a way for ends, and says so",
      on: .mixed { $0.settings = [.withoutSandbox] },
      bounds: [
        .exactly(.lost, 0), .exactly(.wrongSums, 0), .exactly(.uncommitted, 0),
        .exactly(.rejected("e1"), 400), .most(.settled, 10),
      ]),
    Scenario(
      "ready-pushes", "no more pushes are ready than may be",
      on: .usual {
        $0.streams = 4
        $0.settings = [.batchPushes(50), .readyPushes(100)]
        $0.audiences = [ScenarioAudience(1, followers: 3_200, shards: 8)]
      },
      actions: (1...4).map { .at(.seconds($0), .look("\($0)", at: "worker-1")) },
      bounds: .onceEach
        + (1...4).map { .within(.measured("\($0)", series: "fanfare_pushes_ready"), 1...150) }),
    Scenario(
      "silent-while-others-are-refused",
      "who never answers is not asked for ever while none is taken",
      on: .usual {
        $0.settings = [.straggle(after: .seconds(2), delay: .seconds(2))]
        $0.audiences = [
          ScenarioAudience(1, followers: 400),
          ScenarioAudience(2, followers: 1, marked: [.init(every: 1, answer: "0fff")]),
        ]
      },
      events: [ScenarioEvent("e1", of: 1), ScenarioEvent("e2", of: 2, expiresIn: 300)],
      actions: [
        .at(.milliseconds(10), .apple { $0.mix = [.init(.refuse(429), probability: 1)] }),
        .at(.seconds(180), .appleIsWell),
      ],
      bounds: .onceEach + [
        .most(.requests("e2", 0...1_000), 8), .exactly(.rejected("e2"), 1),
        .exactly(.expired("e2"), 0),
      ]),
    Scenario(
      "leaving-then-expired", "what was under way when its worker stopped is not called expired",
      on: .usual {
        $0.settings = [.drain(.seconds(2))]
        $0.audiences = [ScenarioAudience(1, followers: 20)]
      },
      events: [ScenarioEvent("e1", of: 1, expiresIn: 8)],
      actions: [
        .at(.zero, .apple { $0.silentAfter = 6 }), .at(.seconds(1), .stop("worker-1")),
        .at(.seconds(20), .start("worker-2")),
      ],
      bounds: [
        .exactly(.expired("e1"), 0), .exactly(.cancelled("e1"), 0),
        .exactly(.requests("e1", 0...1_000), 20), .exactly(.wrongSums, 0),
        .exactly(.uncommitted, 0), .most(.settled, 40),
      ]),
    Scenario(
      "cancelled-after-silence", "a push that may have arrived is not called cancelled",
      on: .usual {
        $0.settings = [.straggle(after: .seconds(120), delay: .seconds(1))]
        $0.audiences = [
          ScenarioAudience(1, followers: 40, marked: [.init(every: 10, answer: "0fff")])
        ]
      },
      actions: (0..<3).map { .at(.seconds(14 + $0), .halt(.cancelled, "e1")) },
      bounds: .onceEach + [.exactly(.cancelled("e1"), 0), .exactly(.rejected("e1"), 4)]),
    Scenario(
      "lost-segments-and-crash", "lost segments are planned again though who missed them dies",
      on: .usual {
        $0.streams = 4
        $0.settings = [.drain(.zero)]
        $0.audiences = [ScenarioAudience(1, followers: 640, shards: 32)]
      },
      actions: [
        .at(.seconds(1), .stop("worker-1")), .at(.seconds(2), .kafkaThrowsAway(topic: 1)),
        .at(.seconds(3), .start("worker-2")), .at(.milliseconds(7_200), .kill("worker-2")),
        .at(.seconds(8), .start("worker-3")),
      ],
      bounds: .nobodyLost + [.most(.settled, 60), .most(.doubled, 20)]),
    Scenario(
      "one-push-in-trouble", "the only push that there is outlives a server's trouble",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 1)] },
      actions: [
        .at(.zero, .apple { $0.mix = [.init(.drop, probability: 1)] }),
        .at(.seconds(20), .appleIsWell),
      ],
      bounds: .nobodyLost + [.exactly(.rejected("e1"), 0), .most(.lastPush("e1"), 60)]),
    Scenario(
      "memory-of-another", "pushes in a short back-off stay, whatever other segments keep",
      on: .usual {
        $0.streams = 200
        $0.settings = [
          .batchPushes(20), .batchBytes(40_000), .retry(.seconds(1)),
          .straggle(after: .seconds(6), delay: .seconds(2)),
        ]
        $0.audiences = [
          ScenarioAudience(1, followers: 200, marked: [.init(every: 2, answer: "1fff")]),
          ScenarioAudience(2, followers: 100, marked: [.init(every: 5, answer: "1503")]),
        ]
      },
      events: [ScenarioEvent("e1", of: 1), ScenarioEvent("e2", of: 2, at: .milliseconds(500))],
      bounds: .nobodyLost + [.exactly(.counted("e2", field: "stragglers"), 0)]),
  ]
}

extension ScenarioSetUp {
  /// Each of 400 followers has a device of each environment.
  fileprivate static func mixed(_ change: (inout ScenarioSetUp) -> Void) -> ScenarioSetUp {
    usual {
      $0.audiences = [ScenarioAudience(1, followers: 400, shards: 8, devices: 2)]
      $0.audiences[0].isMixed = true
      change(&$0)
    }
  }
}
