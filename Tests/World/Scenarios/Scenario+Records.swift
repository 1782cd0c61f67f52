import APNsSimulator
import MemoryKafka
import Model

/// What becomes of records in Kafka: read once, committed when they are done, written as often as
/// they have to be.
extension Scenario {
  static let commits: [Scenario] = [
    Scenario(
      "commits-refused", "what was not committed is committed when Kafka takes it",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 40, shards: 8)] },
      actions: [.at(.zero, .kafkaFails(.commit, .topicAuthorizationFailed, times: 15))],
      bounds: .onceEach),
    Scenario(
      "rebalances-read-nothing-again", "who gets a partition begins where its last owner ended",
      on: .usual {
        $0.workers = 2
        $0.streams = 4
        $0.audiences = [ScenarioAudience(1, followers: 2_000, shards: 64)]
      },
      actions: (1...5).map { .at(.milliseconds(1_330 * $0), .rebalance) } + [
        .at(.seconds(60), .look("one", at: "worker-1")),
        .at(.seconds(60), .look("two", at: "worker-2")),
      ],
      bounds: .onceEach + [
        .exactly(.measured("one", series: Self.alreadySettled), 0),
        .exactly(.measured("two", series: Self.alreadySettled), 0),
      ]),
    Scenario(
      "plan-read-again", "a plan that is read again writes nothing again",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 512, shards: 512)] },
      actions: [
        .at(.zero, .kafkaFails(.commit, .topicAuthorizationFailed, times: 1_000)),
        .at(.seconds(15), .stop("worker-1")), .at(.seconds(18), .kafkaFailsNoMore),
        .at(.seconds(18), .start("worker-2")), .at(.seconds(60), .look("then", at: "worker-2")),
      ],
      bounds: .onceEach + [
        .exactly(.measured("then", series: Self.alreadySettled), 512),
        // Behind each window but the last is a record that brings the next one.
        .exactly(.records(topic: 2), 515), .exactly(.records(topic: 1), 0),
      ]),
    Scenario(
      "segments-read-again", "nor does an event of which a part is done",
      on: .usual {
        $0.streams = 4
        $0.settings = [.drain(.zero)]
        $0.audiences = [ScenarioAudience(1, followers: 512, shards: 16)]
      },
      actions: [
        .at(.zero, .kafkaFails(.commit, .topicAuthorizationFailed, times: 1_000)),
        .at(.seconds(2), .stop("worker-1")), .at(.seconds(4), .kafkaFailsNoMore),
        .at(.seconds(4), .start("worker-2")),
      ],
      bounds: .nobodyLost + [.exactly(.records(topic: 1), 16)]),
    Scenario(
      "segments-not-taken", "what Kafka has not taken yet is written by the next worker",
      on: .usual {
        $0.settings = [.drain(.seconds(1))]
        $0.audiences = [ScenarioAudience(1, followers: 80, shards: 8)]
      },
      actions: [
        .writesFail("segments", .topicAuthorizationFailed),
        .at(.seconds(5), .stop("worker-1")), .at(.seconds(9), .kafkaFailsNoMore),
        .at(.seconds(9), .start("worker-2")),
      ],
      bounds: .onceEach + [.most(.lastPush("e1"), 20), .exactly(.records(topic: 1), 8)]),
    Scenario(
      "fenced", "a client that cannot go on ends its process, once",
      on: .usual {
        $0.workers = 2
        $0.audiences = [ScenarioAudience(1, followers: 400, shards: 8)]
      },
      actions: [
        .at(
          .milliseconds(100),
          .kafkaFails(.heartbeat, .fencedInstance, times: 5, host: "worker-1")),
        .at(.seconds(20), .kafkaFailsNoMore), .at(.seconds(20), .kill("worker-1")),
      ],
      bounds: .nobodyLost + [.exactly(.failures, 1)]),
  ]

  private static let alreadySettled = "fanfare_segments_total{result=\"already_settled\"}"

  static let refusedLetters: [Scenario] = [
    refused("letters-refused", .topicAuthorizationFailed),
    refused("letters-unanswered", .unanswered(isDone: false)),
  ]

  /// A record that is no event goes before an event of its partition, and the dead letters take
  /// nothing for half a minute.
  private static func refused(_ name: String, _ failure: MemoryFailure) -> Scenario {
    Scenario(
      name, "while the dead letters take nothing one partition waits, and no other",
      on: .usual {
        $0.audiences = [ScenarioAudience(1, followers: 40), ScenarioAudience(2, followers: 40)]
      },
      events: [
        ScenarioEvent("e1", of: 1, at: .seconds(2)), ScenarioEvent("e2", of: 2, at: .seconds(2)),
        ScenarioEvent("e3", of: 2, at: .milliseconds(2_100)),
      ],
      actions: [
        .writesFail("dead-letters", failure)
      ] + (0..<6).map { _ in .at(.milliseconds(500), .nonsense(1)) } + [
        .at(.seconds(30), .kafkaFailsNoMore)
      ],
      bounds: [
        .exactly(.lost, 0), .exactly(.wrongSums, 0), .exactly(.uncommitted, 0),
        .most(.lastPush("e2"), 1), .within(.lastPush("e1"), 20...75), .exactly(.letters, 6),
        .exactly(.stats("dead_letters"), 6), .exactly(.requests("e1", 0...1_000), 40),
        .exactly(.requests("e2", 0...1_000), 80),
      ])
  }

  static let owners: [Scenario] = [
    Scenario(
      "claims-renewed", "a claim is renewed as long as its segment takes",
      on: .narrow { $0.settings = [.claims(.seconds(3))] },
      bounds: .onceEach + [
        .exactly(.counted("e1", field: "stragglers"), 0), .exactly(.requests("e1", 0...1_000), 60),
      ]),
    Scenario(
      "claim-of-another", "what another worker has is left to it",
      on: .narrow { $0.settings = [.claims(.seconds(3))] },
      actions: [
        .at(.milliseconds(1_500), .claimsAreAnothers("e1")),
        .at(.seconds(30), .redisForgets("e1", part: ":claims")),
      ],
      bounds: .nobodyLost + [
        .exactly(.requests("e1", 4...30), 0), .most(.doubled, 15), .most(.lastPush("e1"), 60),
      ]),
    Scenario(
      "released", "who stops keeps nobody waiting",
      on: .narrow { $0.settings = [.claims(.seconds(300)), .drain(.zero)] },
      actions: [
        .at(.milliseconds(1_500), .stop("worker-1")), .at(.seconds(3), .start("worker-2")),
      ],
      bounds: .nobodyLost + [.most(.lastPush("e1"), 30)]),
    Scenario(
      "one-letter-sent-again", "an event of one segment goes on when it is sent again",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 40)] },
      events: [ScenarioEvent("e1", of: 1, at: .milliseconds(500))],
      actions: [
        .at(.zero, .breakShard(1, shard: 0)), .at(.seconds(5), .mendShard(1, shard: 0)),
        .at(.seconds(6), .replay),
      ],
      bounds: .onceEach + [.exactly(.requests("e1", 5...1_000), 40)]),
    Scenario(
      "slow-redis", "an event of one segment waits for Redis no more than it has to",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 40)] },
      actions: [.at(.zero, .redisIsSlow(.milliseconds(100)))],
      bounds: .onceEach + [.most(.lastPush("e1"), 0.8)]),
  ]

  static let waiting: [Scenario] = [
    Scenario(
      "last-try", "pushes that wait are tried once more before their event expires",
      on: .waiting {
        $0.settings = [
          .retry(.seconds(20)), .straggle(after: .milliseconds(300), delay: .seconds(60)),
        ]
      },
      events: [ScenarioEvent("e1", of: 1, expiresIn: 20)],
      actions: [
        .at(.zero, .apple { $0.mix = [.init(.refuse(503), probability: 1)] }),
        .at(.seconds(10), .appleIsWell),
      ],
      // In some seeds one of the forty has its last try too soon.
      bounds: .onceEach + [.most(.expired("e1"), 1), .most(.lastPush("e1"), 20)]),
    Scenario(
      "retry-after", "Apple is not asked before it wants to be",
      on: .waiting { $0.settings = [.straggle(after: .milliseconds(300), delay: .seconds(2))] },
      actions: [
        .at(
          .zero,
          .apple {
            $0.mix = [
              .init(
                .refuse(Refusal(status: 429, reason: "TooManyRequests", retryAfter: 20)),
                probability: 1)
            ]
          }), .at(.seconds(3), .appleIsWell),
      ],
      bounds: .onceEach + [.exactly(.requests("e1", 3...18), 0), .most(.lastPush("e1"), 60)]),
    Scenario(
      "stragglers-rest", "stragglers rest as long as they are to",
      on: .waiting(.init(every: 10, answer: "2503")) {
        $0.settings = [
          .retry(.seconds(20)), .straggle(after: .milliseconds(200), delay: .seconds(10)),
        ]
      },
      bounds: .onceEach + [
        .exactly(.requests("e1", 1...9), 0), .exactly(.counted("e1", field: "stragglers"), 2),
        .exactly(.requests("e1", 0...1_000), 48),
      ]),
    Scenario(
      "tries-add-up", "the tries of a push add up over all records that carry it",
      on: .waiting(.init(every: 10, answer: "0429")) {
        $0.settings = [
          .retry(.seconds(20)), .straggle(after: .milliseconds(200), delay: .seconds(1)),
        ]
      },
      bounds: .onceEach + [.exactly(.rejected("e1"), 4), .most(.requests("e1", 0...1_000), 100)]),
    Scenario(
      "unanswered", "a push that may have arrived is not called expired",
      on: .waiting(.init(every: 10, answer: "0fff")) {
        $0.settings = [.straggle(after: .milliseconds(200), delay: .seconds(30))]
      },
      events: [ScenarioEvent("e1", of: 1, expiresIn: 50)],
      bounds: .onceEach + [.exactly(.rejected("e1"), 4), .exactly(.expired("e1"), 0)]),
    Scenario(
      "logged-out-meanwhile", "whose owner logs out while it waits is not sent, and counted",
      on: .waiting(.init(every: 10, answer: "3503")) {
        $0.settings = [
          .retry(.seconds(20)), .straggle(after: .milliseconds(200), delay: .seconds(3)),
        ]
      },
      actions: [.at(.milliseconds(1_500), .logOut(1))],
      bounds: .onceEach + [.exactly(.cancelled("e1"), 4), .exactly(.requests("e1", 2...1_000), 0)]),
    Scenario(
      "list-without-its-mark", "stragglers are sent although Redis has lost what was noted of them",
      on: .waiting(.init(every: 10, answer: "2503")) {
        $0.settings = [
          .retry(.seconds(20)), .straggle(after: .milliseconds(200), delay: .seconds(8)),
        ]
      },
      events: [ScenarioEvent("e1", of: 1, expiresIn: 300)],
      actions: [
        .at(.seconds(3), .redisForgets("e1", part: ":settled")),
        .at(.seconds(3), .redisForgets("e1", part: ":stragglers")),
      ],
      bounds: [
        .exactly(.lost, 0), .exactly(.doubled, 0), .exactly(.rejected("e1"), 0),
        .most(.lastPush("e1"), 200),
      ]),
    Scenario(
      "both-kinds-of-tokens", "a Live Activity's pushes go to the tokens that are for them",
      on: .usual {
        $0.audiences = [
          ScenarioAudience(1, followers: 40),
          ScenarioAudience(2, followers: 40, app: World.app + PushType.liveactivity.topicSuffix),
        ]
      },
      events: [
        ScenarioEvent("e1", of: 1),
        ScenarioEvent("e2", of: 2, at: .seconds(1), template: "live-activity-start"),
      ],
      bounds: .onceEach + [.exactly(.counted("e2", field: "accepted"), 40)]),
  ]

  static let otherClocks: [Scenario] = [
    Scenario(
      "clock-behind", "a worker whose clock is behind sends nothing late",
      on: .usual {
        $0.audiences = [
          ScenarioAudience(1, followers: 40, shards: 4), ScenarioAudience(2, followers: 40),
        ]
      },
      events: [
        ScenarioEvent("e1", of: 1, at: .seconds(1), expiresIn: 30, ago: 40),
        ScenarioEvent("e2", of: 2, at: .seconds(1)),
      ],
      actions: [
        .at(.zero, .clock("worker-1", .seconds(-60))), .at(.seconds(20), .clock("worker-1", .zero)),
      ],
      bounds: .onceEach + [
        .exactly(.requests("e1", 0...1_000), 0), .exactly(.expired("e1"), 40),
        .exactly(.counted("e2", field: "accepted"), 40),
      ]),
    Scenario(
      "clock-an-hour-ahead", "one whose clock is far ahead leaves events to others",
      on: .usual {
        $0.workers = 2
        $0.audiences = [
          ScenarioAudience(1, followers: 200, shards: 8), ScenarioAudience(2, followers: 40),
        ]
      },
      events: [
        ScenarioEvent("e1", of: 1, at: .seconds(1)), ScenarioEvent("e2", of: 2, at: .seconds(1)),
      ],
      actions: [.at(.zero, .clock("worker-1", .seconds(3_600)))],
      bounds: .onceEach + [
        .exactly(.expired("e1"), 0), .exactly(.expired("e2"), 0), .most(.lastPush("e1"), 60),
      ]),
    Scenario(
      "clock-40-s-ahead", "what has expired by one clock alone waits, and is in the books",
      on: .usual {
        $0.workers = 2
        $0.audiences = (1...3).map { ScenarioAudience($0, followers: 240, shards: 8) }
      },
      events: (1...3).map {
        ScenarioEvent("e\($0)", of: $0, at: .seconds(2 * $0), expiresIn: 30)
      },
      actions: [.at(.zero, .clock("worker-1", .seconds(40)))],
      bounds: [
        .exactly(.doubled, 0), .exactly(.miscounted, 0), .exactly(.wrongSums, 0),
        .exactly(.uncommitted, 0), .most(.settled, 95),
        // What one of them reads and the other would send waits until both call it expired.
        .exactly(.stats("events_done"), 2), .exactly(.stats("events_expired"), 1),
      ]),
  ]
}

extension ScenarioSetUp {
  /// One push at a time, of one segment: twenty seconds of work.
  fileprivate static func narrow(_ change: (inout ScenarioSetUp) -> Void) -> ScenarioSetUp {
    usual {
      $0.connections = 1
      $0.streams = 1
      $0.latency = .milliseconds(330)
      $0.audiences = [ScenarioAudience(1, followers: 60)]
      change(&$0)
    }
  }

  /// One segment, of which a few devices have an answer of their own.
  fileprivate static func waiting(
    _ marked: ScenarioAudience.Marked? = nil, _ change: (inout ScenarioSetUp) -> Void
  ) -> ScenarioSetUp {
    usual {
      $0.audiences = [
        ScenarioAudience(1, followers: 40, marked: marked.map { [$0] } ?? [])
      ]
      change(&$0)
    }
  }
}
