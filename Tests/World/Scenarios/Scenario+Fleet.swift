import Model

/// Workers, Kafka and Redis come and go, and operators have their say.
extension Scenario {
  static let workers: [Scenario] = [
    Scenario(
      "rolling-restart", "a rolling restart sends nothing twice", on: .fleet(3),
      actions: (1...3).flatMap { number -> [ScenarioAction] in
        let at = Duration.seconds(2 * number - 1)
        return [
          .at(at, .stop("worker-\(number)")),
          .at(at + .milliseconds(500), .start("worker-\(number + 3)")),
        ]
      },
      bounds: .onceEach + [.most(.lastPush("e1"), 20)]),
    Scenario(
      "worker-killed", "others take what it was sending when its claims are over", on: .fleet(3),
      actions: [.at(.milliseconds(2_000), .kill("worker-1"))],
      bounds: .nobodyLost + [.most(.doubled, 20), .most(.lastPush("e1"), 16)]),
    Scenario(
      "worker-frozen-3s", "a worker that stands still for less than its claims costs nothing",
      on: .fleet(2), actions: [.at(.seconds(1), .freeze("worker-1", .seconds(3)))],
      bounds: .onceEach + [.most(.lastPush("e1"), 11.5)]),
    Scenario(
      "worker-frozen-30s", "one that stands still for longer costs what a dead one does",
      on: .fleet(2), actions: [.at(.seconds(1), .freeze("worker-1", .seconds(30)))],
      bounds: .nobodyLost + [.most(.doubled, 16), .most(.lastPush("e1"), 17)]),
    Scenario(
      "worker-joins", "scaling costs nothing", on: .fleet(1),
      actions: [
        .at(.seconds(1), .start("worker-2")), .at(.milliseconds(1_500), .start("worker-3")),
      ],
      bounds: .onceEach + [.most(.ratio("e1"), 0.65)]),
    leaving("leaving-silent", answer: "1fff"),
    leaving("leaving-refused", answer: "1503"),
    Scenario(
      "leaving-half-a-segment", "what was accepted of a segment is not sent again",
      on: .usual {
        $0.latency = .milliseconds(200)
        $0.streams = 20
        $0.settings = [.drain(.seconds(10)), .batchPushes(50), .readyPushes(100)]
        $0.audiences = [ScenarioAudience(1, followers: 3_000, shards: 4)]
      },
      actions: [.at(.seconds(1), .stop("worker-1")), .at(.seconds(13), .start("worker-2"))],
      bounds: .onceEach + [
        // The first one has left some of it.
        .least(.lastPush("e1"), 14), .least(.counted("e1", field: "stragglers"), 1),
      ]),
    Scenario(
      "stopped-at-once", "who stops at once gives all of it to the next one, who need not wait",
      on: .usual { $0.settings = [.drain(.zero), .claims(.seconds(300))] },
      actions: [.at(.seconds(1), .stop("worker-1")), .at(.seconds(2), .start("worker-2"))],
      bounds: .nobodyLost + [
        .within(.doubled, 1...64), .most(.lastPush("e1"), 9), .exactly(.rejected("e1"), 0),
      ]),
    deadOwner("killed-then-expired", expiresIn: 8, []),
    deadOwner(
      "killed-then-cancelled", expiresIn: 600, [.at(.seconds(2), .halt(.cancelled, "e1"))]),
  ]

  /// A few devices have no answer, or wait for another try, when their worker stops.
  private static func leaving(_ name: String, answer: String) -> Scenario {
    Scenario(
      name, "only what has no outcome is sent again when a worker stops",
      on: .usual {
        $0.streams = 200
        $0.settings = [
          .drain(.seconds(3)), .retry(.seconds(60)),
          .straggle(after: .seconds(60), delay: .milliseconds(100)),
        ]
        $0.audiences = [
          ScenarioAudience(
            1, followers: 1_200, shards: 4, marked: [.init(every: 100, answer: answer)])
        ]
      },
      actions: [.at(.seconds(2), .stop("worker-1")), .at(.seconds(13), .start("worker-2"))],
      bounds: .onceEach + [
        .exactly(.requests("e1", 0...1_000), 1_212), .exactly(.requests("e1", 2.1...1_000), 12),
      ])
  }

  /// Half of an event's pushes were answered, and the other half was sent, when its worker died.
  private static func deadOwner(
    _ name: String, expiresIn: Int, _ more: [ScenarioAction]
  ) -> Scenario {
    Scenario(
      name, "what a dead worker may have sent is neither expired nor cancelled",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 20)] },
      events: [ScenarioEvent("e1", of: 1, expiresIn: expiresIn)],
      actions: [
        .at(.zero, .apple { $0.silentAfter = 6 }), .at(.seconds(1), .kill("worker-1")),
        .at(.milliseconds(1_500), .start("worker-2")),
      ] + more,
      bounds: [
        .exactly(.rejected("e1"), 20), .exactly(.expired("e1"), 0), .exactly(.cancelled("e1"), 0),
        .exactly(.counted("e1", field: "accepted"), 0), .exactly(.requests("e1", 0...1_000), 20),
        .most(.settled, 30),
      ])
  }

  static let kafka: [Scenario] = [
    Scenario(
      "kafka-away-12s", "nothing is committed, nothing is lost", on: .fleet(2),
      actions: [.at(.seconds(1), .kafkaIsAway(true)), .at(.seconds(13), .kafkaIsAway(false))],
      bounds: .onceEach + [.most(.lastPush("e1"), 9), .most(.settled, 40)]),
    Scenario(
      "rebalance-in-mid-segment", "a rebalance sends nothing twice", on: .fleet(2),
      actions: [.at(.milliseconds(700), .rebalance), .at(.milliseconds(1_900), .rebalance)],
      bounds: .onceEach + [.most(.lastPush("e1"), 8.5)]),
  ]

  static let redis: [Scenario] = [
    Scenario(
      "redis-down-10s", "the worker waits with back-off; nothing is lost",
      actions: [.at(.seconds(1), .redisStops), .at(.seconds(11), .redisStarts)],
      bounds: .onceEach + [.most(.lastPush("e1"), 19)]),
    Scenario(
      "redis-loses-a-tail", "what was not copied is lost, but no push",
      events: [ScenarioEvent("e1", of: 1, expiresIn: 60)],
      actions: [
        .at(.milliseconds(1_500), .redisReplicaFallsBehind), .at(.seconds(2), .redisFailsOver),
      ],
      limit: .seconds(300),
      bounds: [.exactly(.lost, 0), .most(.doubled, 400), .most(.lastPush("e1"), 5)]),
    Scenario(
      "redis-loading-10s", "LOADING is waited for",
      actions: [.at(.seconds(1), .redisLoads(true)), .at(.seconds(11), .redisLoads(false))],
      bounds: .onceEach + [.most(.lastPush("e1"), 17)]),
    Scenario(
      "redis-full-10s", "the worker waits where it writes",
      actions: [.at(.seconds(1), .redisIsFull(true)), .at(.seconds(11), .redisIsFull(false))],
      bounds: .onceEach + [.most(.lastPush("e1"), 17)]),
    Scenario(
      "settlement-unanswered", "a settlement whose reply was lost counts once",
      actions: [.at(.milliseconds(500), .redisLosesReplies(5))],
      bounds: .onceEach + [.most(.ratio("e1"), 2)]),
  ]

  static let operators: [Scenario] = [
    haltd(
      "cancel", "every worker obeys within two seconds, and no other event",
      [.at(.seconds(2), .halt(.cancelled, "e1"))],
      [
        .exactly(.requests("e1", 4.1...1_000), 0), .most(.settled, 8),
        .within(.cancelled("e1"), 1_400...1_950),
      ]),
    haltd(
      "stream-ended", "the end of a stream cancels what told of it",
      [.at(.seconds(2), .streamEnds(1))],
      [
        .exactly(.requests("e1", 4.1...1_000), 0), .most(.settled, 8),
        .within(.cancelled("e1"), 1_400...1_950),
      ]),
    haltd(
      "pause-and-resume", "it goes on where it stood within lanes.straggle_delay", paused,
      [
        .exactly(.requests("e1", 4.1...11.9), 0), .least(.requests("e1", 12...17), 1),
        .most(.lastPush("e1"), 40),
      ]),
    haltd(
      "pause-of-one-segment", "so does an event of one segment", shards: 1, paused,
      [
        .exactly(.requests("e1", 4.1...11.9), 0), .least(.requests("e1", 12...17), 1),
        .most(.lastPush("e1"), 40),
      ]),
    haltd(
      "expiry-while-paused", "an event expires while it is paused as at any other time",
      expiresIn: 10, [.at(.seconds(2), .halt(.paused, "e1"))],
      [
        .exactly(.requests("e1", 4.1...1_000), 0), .within(.expired("e1"), 1_400...1_950),
        .most(.settled, 16),
      ]),
  ]

  private static let paused: [ScenarioAction] = [
    .at(.seconds(2), .halt(.paused, "e1")), .at(.seconds(12), .halt(nil, "e1")),
  ]

  /// An event that somebody stops, and a small one behind it that nobody does.
  private static func haltd(
    _ name: String, _ promise: String, shards: Int = 16, expiresIn: Int = 900,
    _ actions: [ScenarioAction], _ bounds: [ScenarioBound]
  ) -> Scenario {
    var setUp = ScenarioSetUp.slowApple
    setUp.audiences = [
      ScenarioAudience(1, followers: 2_000, shards: shards), ScenarioAudience(2, followers: 5),
    ]
    return Scenario(
      name, promise, on: setUp,
      events: [
        ScenarioEvent("e1", of: 1, expiresIn: expiresIn),
        ScenarioEvent("e2", of: 2, at: .seconds(6)),
      ],
      actions: actions,
      bounds: .onceEach + bounds + [
        .most(.lastPush("e2"), 1), .exactly(.counted("e2", field: "accepted"), 5),
      ])
  }
}

extension ScenarioSetUp {
  fileprivate static func fleet(_ workers: Int) -> ScenarioSetUp {
    usual {
      $0.workers = workers
      $0.streams = 4
      $0.audiences = [ScenarioAudience(1, followers: 2_000, shards: 32)]
    }
  }
}
