import APNsSimulator
import Model

/// What workers read ahead, keep meanwhile, and leave to others.
extension Scenario {
  static let reading: [Scenario] = [
    Scenario(
      "put-out-of-the-group", "who is put out of the group and comes back begins nothing again",
      on: .slowSegment { $0.audiences = [ScenarioAudience(1, followers: 60, shards: 2)] },
      actions: [
        .at(.milliseconds(1_500), .evict("worker-1")),
        .at(.seconds(60), .look("then", at: "worker-1")),
      ],
      bounds: .onceEach + [
        .exactly(.measured("then", series: alreadySettled), 0),
        .exactly(.requests("e1", 0...1_000), 60),
      ]),
    Scenario(
      "unfollowed-meanwhile", "followers are those of when an event begins, not of when it came",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 40)] },
      events: [ScenarioEvent("e1", of: 1, at: .milliseconds(500))],
      actions: [
        .at(.zero, .redisIsFull(true)), .at(.seconds(10), .unfollow(1)),
        .at(.seconds(12), .redisIsFull(false)),
      ],
      bounds: [
        .exactly(.requests("e1", 0...1_000), 0), .exactly(.uncommitted, 0), .exactly(.wrongSums, 0),
        .most(.settled, 25),
      ]),
    Scenario(
      "read-while-redis-is-away", "while events wait no more than some hundreds are read",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 40)] },
      actions: [.at(.milliseconds(500), .redisStops)]
        + (0..<10).map { .at(.milliseconds(1_000 + 10 * $0), .kafkaRepeats(topic: 0)) } + [
          .at(.seconds(5), .look("then", at: "worker-1")), .at(.seconds(6), .redisStarts),
        ],
      bounds: .onceEach + [
        .within(.readAhead("then"), 200...400), .exactly(.stats("events_duplicate"), 1_023),
      ]),
    Scenario(
      "resting-and-rebalance", "stragglers that rest are read one by one, also behind a rebalance",
      on: .usual {
        $0.settings = [
          .retry(.seconds(60)), .straggle(after: .milliseconds(200), delay: .seconds(30)),
        ]
        $0.audiences = [
          ScenarioAudience(
            1, followers: 640, shards: 64, marked: [.init(every: 10, answer: "2503")])
        ]
      },
      actions: [
        .at(.seconds(10), .look("before", at: "worker-1")), .at(.seconds(11), .rebalance),
        .at(.seconds(15), .look("behind", at: "worker-1")),
      ],
      bounds: .onceEach + [
        .within(.readAhead("before"), 1...8), .within(.readAhead("behind"), 1...8),
      ]),
    Scenario(
      "last-tries", "few stragglers wait in memory until their event expires",
      on: .usual {
        $0.settings = [
          .retry(.seconds(60)), .straggle(after: .milliseconds(300), delay: .seconds(10)),
        ]
        $0.audiences = [ScenarioAudience(1, followers: 512, shards: 128, destination: .sandbox)]
      },
      events: [ScenarioEvent("e1", of: 1, expiresIn: 20)],
      actions: [
        .at(.zero, .sandbox { $0.isRefused = true }),
        .at(.milliseconds(13_500), .look("then", at: "worker-1")),
      ],
      bounds: .onceEach + [
        .within(.measured("then", series: "fanfare_records_aside"), 1...64),
        .exactly(.expired("e1"), 512), .most(.settled, 25),
      ]),
    Scenario(
      "lingering", "so many segments wait for their last pushes beside those with a place",
      on: .usual {
        $0.streams = 200
        $0.settings = [
          .stragglers(4, awaitingAnswers: 4), .straggle(after: .seconds(60), delay: .seconds(1)),
        ]
        $0.audiences = [
          ScenarioAudience(
            1, followers: 640, shards: 64, marked: [.init(every: 10, answer: "1fff")])
        ]
      },
      actions: [.at(.seconds(4), .look("then", at: "worker-1"))],
      bounds: .nobodyLost + [
        .within(.measured("then", series: "fanfare_segments_lingering"), 1...4)
      ]),
    Scenario(
      "gone-meanwhile", "what Apple calls gone is removed while its segment goes on",
      on: .usual {
        $0.settings = [.verdicts(2)]
        $0.audiences = [
          ScenarioAudience(1, followers: 1_500, marked: [.init(every: 20, answer: "0410")])
        ]
      },
      actions: [.at(.milliseconds(2_500), .look("then", at: "worker-1"))],
      bounds: .onceEach + [
        .within(.countedAt("then", "e1", field: "pruned"), 1...74),
        .exactly(.countedAt("then", "e1", field: "settled"), 0),
        .exactly(.counted("e1", field: "pruned"), 75), .exactly(.news, 75),
      ]),
    Scenario(
      "letters-without-a-topic", "while the dead letters do not answer other records go on",
      on: .usual {
        $0.audiences = [ScenarioAudience(1, followers: 40), ScenarioAudience(2, followers: 40)]
      },
      events: [ScenarioEvent("e2", of: 2, at: .seconds(2))],
      actions: [.at(.zero, .topic("dead-letters", isThere: false))]
        + (0..<20).map { _ in .at(.milliseconds(500), .nonsense(1)) } + [
          .at(.seconds(20), .topic("dead-letters", isThere: true))
        ],
      bounds: [
        .exactly(.wrongSums, 0), .exactly(.uncommitted, 0), .most(.lastPush("e2"), 1),
        .exactly(.letters, 20),
      ]),
    Scenario(
      "list-beside-closed", "stragglers of an open route do not wait for those of a closed one",
      on: .usual {
        $0.settings = [
          .stragglers(1, awaitingAnswers: 1), .retry(.seconds(20)),
          .straggle(after: .milliseconds(300), delay: .seconds(1)),
        ]
        $0.audiences = [
          ScenarioAudience(1, followers: 40, marked: [.init(every: 10, answer: "1503")]),
          ScenarioAudience(9, followers: 640, shards: 64, destination: .sandbox),
        ]
      },
      events: [
        ScenarioEvent("sandbox", of: 9, disturbs: true),
        ScenarioEvent("e1", of: 1, at: .seconds(8)),
      ],
      actions: [
        .at(.zero, .sandbox { $0.isRefused = true }),
        .at(.seconds(60), .sandbox { $0.isRefused = false }),
      ],
      bounds: .onceEach + [
        .most(.lastPush("e1"), 4), .exactly(.rejected("sandbox"), 0),
        .most(.counted("sandbox", field: "stragglers"), 450),
      ]),
    Scenario(
      "not-refused-beside-refused", "what Apple has not refused asks before what it has",
      on: .usual {
        $0.settings = [
          .stragglers(1, awaitingAnswers: 1), .retry(.seconds(20)), .holdCredentials(.seconds(2)),
          .straggle(after: .seconds(2), delay: .seconds(1)),
        ]
        $0.audiences = [
          ScenarioAudience(1, followers: 10, marked: [.init(every: 10, answer: "1503")]),
          ScenarioAudience(
            9, followers: 32, shards: 32, marked: [.init(every: 1, answer: "040f")]),
        ]
      },
      events: [
        ScenarioEvent("refused", of: 9, expiresIn: 120, disturbs: true),
        ScenarioEvent("e1", of: 1, at: .seconds(60), expiresIn: 300),
      ],
      bounds: .onceEach + [.most(.lastPush("e1"), 10)]),
    Scenario(
      "small-beside-eight", "a small event has most turns beside however many large ones",
      on: .usual {
        $0.audiences =
          [ScenarioAudience(1, followers: 60)]
          + (2...9).map { ScenarioAudience($0, followers: 640, shards: $0 % 2 == 0 ? 64 : 128) }
      },
      events: (2...9).map { ScenarioEvent("large-\($0)", of: $0, disturbs: true) } + [
        ScenarioEvent("small", of: 1, at: .seconds(2))
      ],
      bounds: .onceEach + [.most(.ratio("small"), 2.5)]),
    Scenario(
      "large-beside-newcomers", "a large event goes on whatever comes after it",
      on: .usual {
        $0.streams = 100
        $0.audiences =
          [ScenarioAudience(1, followers: 6_400, shards: 64)]
          + (2...9).map { ScenarioAudience($0, followers: 1_600, shards: 32) }
      },
      events: [ScenarioEvent("large", of: 1)]
        + (2...9).map {
          ScenarioEvent("new-\($0)", of: $0, at: .milliseconds(400 * $0), disturbs: true)
        },
      bounds: .onceEach + [.most(.ratio("large"), 2.5)]),
    Scenario(
      "limited-behind-many", "nor do they when they have come long before",
      on: .usual {
        $0.settings = [.rate(World.app, 5), .rate(World.otherApp, 200)]
        $0.audiences =
          [ScenarioAudience(1, followers: 400, shards: 8, app: World.otherApp)]
          + (2...60).map { ScenarioAudience($0, followers: 40, shards: 4) }
      },
      events: (2...60).map {
        ScenarioEvent("slow-\($0)", of: $0, expiresIn: 30, disturbs: true)
      } + [ScenarioEvent("other", of: 1, at: .seconds(10))],
      bounds: .onceEach + [.most(.ratio("other"), 1.5), .most(.settled, 40)]),
  ]

  private static let alreadySettled = "fanfare_segments_total{result=\"already_settled\"}"
}

extension ScenarioSetUp {
  /// One push at a time, of one segment: twenty seconds of work.
  fileprivate static func slowSegment(_ change: (inout ScenarioSetUp) -> Void) -> ScenarioSetUp {
    usual {
      $0.connections = 1
      $0.streams = 1
      $0.latency = .milliseconds(330)
      $0.audiences = [ScenarioAudience(1, followers: 60)]
      change(&$0)
    }
  }
}
