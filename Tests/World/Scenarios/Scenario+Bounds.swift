import APNsSimulator
import Model

/// What a worker keeps, reads and waits for at most.
extension Scenario {
  private static let streamsInFlight = #"fanfare_push_streams_in_flight{platform="apns"}"#

  static let kept: [Scenario] = [
    Scenario(
      "hanging", "an event that hangs is among those that have begun",
      on: .usual {
        $0.settings = [.straggle(after: .seconds(60), delay: .seconds(1))]
        $0.audiences = [
          ScenarioAudience(1, followers: 1, marked: [.init(every: 1, answer: "1fff")])
        ]
      },
      actions: [.at(.seconds(10), .look("then", at: "worker-1"))],
      bounds: .onceEach + [.exactly(.statsAt("then", "events"), 1)]),
    Scenario(
      "slow-segment-and-group", "one slow segment does not stop the group",
      on: .usual {
        $0.settings = [.straggle(after: .seconds(120), delay: .seconds(1))]
        $0.audiences = [
          ScenarioAudience(
            1, followers: 64, shards: 8, marked: [.init(every: 1, answer: "1fff")]),
          ScenarioAudience(2, followers: 40),
        ]
      },
      events: [ScenarioEvent("e1", of: 1), ScenarioEvent("e2", of: 2, at: .seconds(12))],
      actions: [.at(.seconds(1), .start("worker-2"))],
      bounds: .nobodyLost + [
        .most(.lastPush("e2"), 3), .exactly(.counted("e2", field: "accepted"), 40),
      ]),
    Scenario(
      "duplicates-read-nothing", "who sends an event again makes nobody read its followers again",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 40)] },
      actions: (0..<6).map { .at(.milliseconds(500 + 100 * $0), .kafkaRepeats(topic: 0)) },
      bounds: .onceEach + [.most(.followersRead, 20), .exactly(.stats("events_duplicate"), 63)]),
    Scenario(
      "producer-cannot-go-on", "a producer that cannot go on ends its process, once",
      on: .usual {
        $0.workers = 2
        $0.audiences = [ScenarioAudience(1, followers: 400, shards: 8)]
      },
      actions: [
        .at(.seconds(1), .producerFails("worker-1")), .at(.seconds(20), .kill("worker-1")),
      ],
      bounds: .nobodyLost + [.exactly(.failures, 1)]),
    Scenario(
      "large-lists", "stragglers of a large segment go to several records",
      on: .usual {
        $0.streams = 500
        $0.latency = .milliseconds(20)
        $0.settings = [
          .retry(.seconds(20)), .straggle(after: .milliseconds(300), delay: .seconds(5)),
        ]
        var audience = ScenarioAudience(1, followers: 2_000)
        audience.hasLongNames = true
        $0.audiences = [audience]
      },
      actions: [
        .at(.zero, .apple { $0.mix = [.init(.refuse(503), probability: 1)] }),
        .at(.seconds(12), .appleIsWell),
      ],
      bounds: .onceEach + [
        .exactly(.rejected("e1"), 0), .least(.counted("e1", field: "stragglers"), 3),
      ]),
    Scenario(
      "list-of-a-dead-run", "a list whose segment was never settled is not sent beside it",
      on: .usual {
        $0.settings = [
          .retry(.seconds(20)), .straggle(after: .milliseconds(200), delay: .seconds(2)),
        ]
        $0.audiences = [
          ScenarioAudience(1, followers: 40, marked: [.init(every: 10, answer: "2503")])
        ]
      },
      actions: [
        .at(.milliseconds(150), .redisIsFull(true)), .at(.seconds(1), .kill("worker-1")),
        .at(.seconds(2), .redisIsFull(false)), .at(.seconds(3), .start("worker-2")),
      ],
      bounds: .nobodyLost + [.exactly(.rejected("e1"), 0), .most(.doubled, 36)]),
    Scenario(
      "perhaps-arrived", "what perhaps has arrived is not called expired, whoever carries it",
      on: .usual {
        $0.settings = [.straggle(after: .milliseconds(200), delay: .seconds(60))]
        $0.audiences = [
          ScenarioAudience(1, followers: 40, marked: [.init(every: 10, answer: "1fff")])
        ]
      },
      events: [ScenarioEvent("e1", of: 1, expiresIn: 70)],
      actions: [
        .at(.seconds(4), .apple { $0.mix = [.init(.refuse(503), probability: 1)] })
      ],
      bounds: .onceEach + [.exactly(.rejected("e1"), 4), .exactly(.expired("e1"), 0)]),
    Scenario(
      "letter-and-stop", "a dead letter of one who stops is noted by the next one",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 400, shards: 8)] },
      actions: [
        .at(.zero, .breakShard(1, shard: 3)),
        .writesFail("dead-letters", .topicAuthorizationFailed),
        .at(.seconds(5), .stop("worker-1")), .at(.seconds(40), .kafkaFailsNoMore),
        .at(.seconds(41), .start("worker-2")),
      ],
      bounds: [
        .exactly(.doubled, 0), .exactly(.uncommitted, 0), .exactly(.letters, 1),
        .exactly(.counted("e1", field: "dead_lettered"), 1),
        .exactly(.counted("e1", field: "settled"), 7),
      ]),
    Scenario(
      "one-batch-of-each", "a lane keeps no more pushes than it may",
      on: .usual {
        $0.streams = 500
        $0.latency = .milliseconds(400)
        $0.settings = [.batchPushes(20), .batchBytes(1)]
        $0.audiences = [ScenarioAudience(1, followers: 800, shards: 4)]
      },
      actions: [
        .at(.milliseconds(300), .look("one", at: "worker-1")),
        .at(.milliseconds(900), .look("two", at: "worker-1")),
      ],
      bounds: [
        .exactly(.lost, 0), .exactly(.doubled, 0), .exactly(.uncommitted, 0),
        .most(.measured("one", series: Self.streamsInFlight), 80),
        .within(.measured("two", series: Self.streamsInFlight), 1...80),
        .most(.lastPush("e1"), 8),
      ]),
    Scenario(
      "forgotten-with-stragglers", "an event that Redis forgot does not end while some of it waits",
      on: .someStraggle,
      actions: [
        .at(.milliseconds(250), .redisForgets("e1", part: "")),
        .at(.seconds(5), .look("then", at: "worker-1")),
      ],
      bounds: [
        .exactly(.lost, 0), .exactly(.doubled, 0), .exactly(.uncommitted, 0),
        .exactly(.statsAt("then", "events_incomplete"), 0), .exactly(.stats("events_done"), 1),
        .exactly(.stats("events_incomplete"), 0), .within(.settled, 8...30),
      ]),
    Scenario(
      "divided-meanwhile", "an event goes on with the division that it was planned with",
      on: .usual {
        $0.settings = [.drain(.seconds(1))]
        $0.audiences = [ScenarioAudience(1, followers: 80, shards: 8)]
      },
      actions: [
        .writesFail("segments", .topicAuthorizationFailed),
        .at(.seconds(5), .stop("worker-1")), .at(.seconds(8), .divide(1)),
        .at(.seconds(9), .kafkaFailsNoMore), .at(.seconds(9), .start("worker-2")),
      ],
      bounds: .onceEach + [
        .exactly(.counted("e1", field: "segments"), 8),
        .exactly(.counted("e1", field: "settled"), 8), .most(.lastPush("e1"), 20),
      ]),
    Scenario(
      "time-by-hand", "a time that somebody wrote by hand ends no worker",
      on: .usual {
        $0.streams = 4
        $0.audiences = [ScenarioAudience(1, followers: 400, shards: 8)]
      },
      actions: [
        .at(.milliseconds(500), .writes("e1", field: "started_ms", "9223372036854775807")),
        .at(.milliseconds(500), .writes("e1", field: "first_push_ms", "-9223372036854775807")),
      ],
      bounds: [.exactly(.lost, 0), .exactly(.doubled, 0), .exactly(.uncommitted, 0)]),
    Scenario(
      "letters-of-all-partitions", "letters without an answer keep no event waiting",
      on: .usual {
        $0.audiences = [ScenarioAudience(2, followers: 40)]
      },
      events: [ScenarioEvent("e2", of: 2, at: .seconds(2))],
      actions: [
        .writesFail("dead-letters", .unanswered(isDone: false))
      ] + (0..<12).map { .at(.milliseconds(500), .nonsense([1, 3, 4][$0 % 3])) } + [
        .at(.seconds(30), .kafkaFailsNoMore)
      ],
      bounds: [
        .exactly(.lost, 0), .exactly(.uncommitted, 0), .most(.lastPush("e2"), 1),
        .exactly(.letters, 12),
      ]),
    Scenario(
      "forgotten-while-they-wait", "the number of waiting pushes is never negative",
      on: .someStraggle,
      actions: [.at(.seconds(5), .redisForgets("e1", part: ""))],
      bounds: [
        .exactly(.lost, 0), .exactly(.doubled, 0), .exactly(.uncommitted, 0),
        .exactly(.counted("e1", field: "waiting"), 0), .exactly(.requests("e1", 0...1_000), 440),
      ]),
    Scenario(
      "letter-of-one-behind", "an event knows of its dead letter, whoever wrote that",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 40)] },
      events: [ScenarioEvent("e1", of: 1, at: .seconds(1), expiresIn: 120)],
      actions: [
        .at(.zero, .breakShard(1, shard: 0)), .at(.zero, .clock("worker-1", .seconds(-660))),
        .at(.seconds(20), .clock("worker-1", .zero)),
      ],
      bounds: [
        .exactly(.letters, 1), .exactly(.counted("e1", field: "dead_lettered"), 1),
        .exactly(.stats("events_incomplete"), 1), .most(.settled, 30),
      ]),
    Scenario(
      "cancelled-before-it-was-read", "what was cancelled in time is cancelled, and not expired",
      on: .usual {
        $0.streams = 1
        $0.connections = 1
        $0.audiences = [ScenarioAudience(1, followers: 800, shards: 64)]
      },
      events: [ScenarioEvent("e1", of: 1, expiresIn: 20)],
      actions: [
        .at(.seconds(2), .halt(.cancelled, "e1")), .at(.milliseconds(2_050), .redisStops),
        .at(.seconds(40), .redisStarts),
      ],
      bounds: .onceEach + [.exactly(.expired("e1"), 0)]),
    Scenario(
      "small-beside-narrow-giant", "an event of one segment goes before those of many",
      on: .usual {
        $0.streams = 8
        $0.audiences = [
          ScenarioAudience(1, followers: 20), ScenarioAudience(9, followers: 4_000, shards: 128),
        ]
      },
      events: [
        ScenarioEvent("giant", of: 9, disturbs: true),
        ScenarioEvent("small", of: 1, at: .seconds(2)),
      ],
      bounds: .onceEach + [.most(.ratio("small"), 1.5)]),
    Scenario(
      "limited-beside-three", "events that may be slow leave places to one that need not",
      on: .usual {
        $0.settings = [.rate(World.otherApp, 200)]
        $0.audiences =
          [ScenarioAudience(1, followers: 400, shards: 8, app: World.otherApp)]
          + (2...5).map { ScenarioAudience($0, followers: 320, shards: 32) }
      },
      events: (2...5).map {
        ScenarioEvent("slow-\($0)", of: $0, expiresIn: 15, rate: 5, disturbs: true)
      } + [ScenarioEvent("other", of: 1, at: .seconds(2))],
      bounds: .onceEach + [.most(.ratio("other"), 3.2)]),
    Scenario(
      "limited-beside-many", "many events of one slow limit hold up no other limit's",
      on: .usual {
        $0.settings = [.rate(World.app, 5), .rate(World.otherApp, 200)]
        $0.audiences =
          [ScenarioAudience(1, followers: 400, shards: 8, app: World.otherApp)]
          + (2...40).map { ScenarioAudience($0, followers: 40, shards: 4) }
      },
      events: (2...40).map {
        ScenarioEvent("slow-\($0)", of: $0, expiresIn: 15, disturbs: true)
      } + [ScenarioEvent("other", of: 1, at: .seconds(2))],
      bounds: .onceEach + [.most(.ratio("other"), 3.2), .most(.settled, 25)]),
    Scenario(
      "early-letter", "a worker whose clock is behind takes an event that is not early",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 40)] },
      events: [ScenarioEvent("e1", of: 1, at: .seconds(1), expiresIn: 120)],
      actions: [
        .at(.zero, .clock("worker-1", .seconds(-660))),
        .at(.seconds(20), .clock("worker-1", .zero)),
      ],
      bounds: .onceEach + [.exactly(.letters, 0), .most(.lastPush("e1"), 2)]),
  ]
}

extension ScenarioSetUp {
  /// One device in twenty is refused twice, and leaves its segment.
  fileprivate static let someStraggle = usual {
    $0.settings = [
      .retry(.seconds(20)), .straggle(after: .milliseconds(200), delay: .seconds(8)),
    ]
    $0.audiences = [
      ScenarioAudience(1, followers: 400, shards: 8, marked: [.init(every: 20, answer: "2503")])
    ]
  }
}
