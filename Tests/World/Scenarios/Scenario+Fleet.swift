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
      bounds: .onceEach + [.most(.lastPush("e1"), 30)]),
    Scenario(
      "worker-killed", "others take what it was sending when its claims are over", on: .fleet(3),
      actions: [.at(.milliseconds(2_000), .kill("worker-1"))],
      bounds: .nobodyLost + [.most(.doubled, 400), .most(.lastPush("e1"), 24)]),
    Scenario(
      "worker-frozen-3s", "a worker that stands still for less than its claims costs nothing",
      on: .fleet(2), actions: [.at(.seconds(1), .freeze("worker-1", .seconds(3)))],
      bounds: .onceEach + [.most(.lastPush("e1"), 12.5)]),
    Scenario(
      "worker-frozen-30s", "one that stands still for longer costs what a dead one does",
      on: .fleet(2), actions: [.at(.seconds(1), .freeze("worker-1", .seconds(30)))],
      bounds: .nobodyLost + [.most(.doubled, 400), .most(.lastPush("e1"), 34)]),
    Scenario(
      "worker-joins", "scaling costs nothing", on: .fleet(1),
      actions: [
        .at(.seconds(1), .start("worker-2")), .at(.milliseconds(1_500), .start("worker-3")),
      ],
      bounds: .onceEach + [.most(.ratio("e1"), 1.1)]),
  ]

  static let kafka: [Scenario] = [
    Scenario(
      "kafka-away-12s", "nothing is committed, nothing is lost", on: .fleet(2),
      actions: [.at(.seconds(1), .kafkaIsAway(true)), .at(.seconds(13), .kafkaIsAway(false))],
      bounds: .onceEach + [.most(.lastPush("e1"), 30), .most(.settled, 40)]),
    Scenario(
      "rebalance-in-mid-segment", "a rebalance sends nothing twice", on: .fleet(2),
      actions: [.at(.milliseconds(700), .rebalance), .at(.milliseconds(1_900), .rebalance)],
      bounds: .onceEach + [.most(.lastPush("e1"), 15)]),
  ]

  static let redis: [Scenario] = [
    Scenario(
      "redis-down-10s", "the worker waits with back-off; nothing is lost",
      actions: [.at(.seconds(1), .redisStops), .at(.seconds(11), .redisStarts)],
      bounds: .onceEach + [.most(.lastPush("e1"), 25)]),
    Scenario(
      "redis-loses-a-tail", "what was not copied is lost, but no push",
      events: [ScenarioEvent("e1", of: 1, expiresIn: 60)],
      actions: [
        .at(.milliseconds(1_500), .redisReplicaFallsBehind), .at(.seconds(2), .redisFailsOver),
      ],
      limit: .seconds(300),
      bounds: [.exactly(.lost, 0), .most(.doubled, 400), .most(.lastPush("e1"), 30)]),
    Scenario(
      "redis-loading-10s", "LOADING is waited for",
      actions: [.at(.seconds(1), .redisLoads(true)), .at(.seconds(11), .redisLoads(false))],
      bounds: .onceEach + [.most(.lastPush("e1"), 25)]),
    Scenario(
      "redis-full-10s", "the worker waits where it writes",
      actions: [.at(.seconds(1), .redisIsFull(true)), .at(.seconds(11), .redisIsFull(false))],
      bounds: .onceEach + [.most(.lastPush("e1"), 25)]),
    Scenario(
      "settlement-unanswered", "a settlement whose reply was lost counts once",
      actions: [.at(.milliseconds(500), .redisLosesReplies(5))],
      bounds: .onceEach + [.most(.ratio("e1"), 2)]),
  ]

  static let operators: [Scenario] = [
    Scenario(
      "cancel", "every worker obeys within two seconds", on: .slowApple,
      actions: [.at(.seconds(2), .brake(.cancelled, "e1"))],
      bounds: .onceEach + [
        .exactly(.requests("e1", 4.1...1_000), 0), .most(.settled, 8),
        .within(.cancelled("e1"), 1_400...1_950),
      ]),
    Scenario(
      "pause-and-resume", "it goes on within lanes.straggle_delay", on: .slowApple,
      actions: [.at(.seconds(2), .brake(.paused, "e1")), .at(.seconds(12), .brake(nil, "e1"))],
      bounds: .onceEach + [
        .exactly(.requests("e1", 4.1...11.9), 0), .least(.requests("e1", 12...17), 1),
        .most(.lastPush("e1"), 40),
      ]),
  ]
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
