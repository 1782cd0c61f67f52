import APNsSimulator
import Model

/// What operators see, and what they mend.
extension Scenario {
  static let watched: [Scenario] = [
    Scenario(
      "heartbeat", "a heartbeat says what a worker has and what it waits for",
      on: .usual {
        $0.streams = 4
        $0.settings = [.heartbeats(every: .milliseconds(500))]
      },
      actions: [
        .at(.milliseconds(1_600), .look("busy", at: "worker-1")),
        .at(.seconds(2), .kafkaIsAway(true)),
        .at(.seconds(6), .look("without Kafka", at: "worker-1")),
        .at(.seconds(7), .kafkaIsAway(false)),
        .at(
          .seconds(8),
          .apple {
            $0.mix = [.init(.refuse(Refusal(.invalidProviderToken)), probability: 1)]
          }),
        .at(.seconds(11), .look("refused", at: "worker-1")),
        .at(.seconds(12), .appleIsWell),
        .at(.seconds(60), .look("done", at: "worker-1")),
      ],
      bounds: .onceEach + [
        .exactly(.heard("busy", field: "streams"), 8),
        .exactly(.heard("busy", field: "connections"), 2),
        .exactly(.heard("busy", field: "partitions"), 16),
        .within(.heard("busy", field: "records_in_flight"), 1...12),
        .least(.heard("busy", field: "ready"), 100),
        .exactly(.heard("busy", field: "waits_for"), 0),
        .exactly(.heard("busy", field: "held_routes"), 0),
        .least(.heard("without Kafka", field: "waits_for"), 10),
        .least(.heard("refused", field: "held_routes"), 10),
        .exactly(.heard("done", field: "waits_for"), 0),
        .exactly(.heard("done", field: "held_routes"), 0),
        .exactly(.measured("busy", series: "fanfare_ready"), 1),
        .exactly(.measured("done", series: "fanfare_pushes_total{outcome=\"accepted\"}"), 2_000),
        .least(.measured("done", series: "fanfare_segments_total{result=\"settled\"}"), 16),
        .exactly(.measured("done", series: "fanfare_fanout_duration_seconds_count"), 1),
        .exactly(.measured("done", series: "fanfare_fanout_first_push_seconds_count"), 1),
      ]),
    Scenario(
      "ready-while-it-stops", "a worker that stops is not ready",
      on: .usual {
        $0.settings = [.drain(.seconds(6))]
        $0.audiences = [
          ScenarioAudience(1, followers: 40, marked: [.init(every: 10, answer: "1fff")])
        ]
      },
      actions: [
        .at(.milliseconds(500), .look("before", at: "worker-1")),
        .at(.seconds(1), .stop("worker-1")),
        .at(.seconds(2), .look("then", at: "worker-1")),
        .at(.seconds(9), .start("worker-2")),
      ],
      bounds: .nobodyLost + [
        .exactly(.measured("before", series: "fanfare_ready"), 1),
        .exactly(.measured("then", series: "fanfare_ready"), 0),
      ]),
    Scenario(
      "ready-without-redis", "nor is one without Redis",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 40)] },
      actions: [
        .at(.seconds(1), .redisStops), .at(.seconds(4), .look("then", at: "worker-1")),
        .at(.seconds(5), .redisStarts), .at(.seconds(12), .look("after", at: "worker-1")),
      ],
      bounds: .onceEach + [
        .exactly(.measured("then", series: "fanfare_ready"), 0),
        .exactly(.measured("after", series: "fanfare_ready"), 1),
      ]),
    Scenario(
      "ready-with-an-old-certificate", "nor one whose certificate has ended",
      on: .usual {
        $0.settings = [.certificateEnds(1_000)]
        $0.audiences = [ScenarioAudience(1, followers: 40)]
      },
      actions: [.at(.seconds(1), .look("then", at: "worker-1"))],
      bounds: .onceEach + [.exactly(.measured("then", series: "fanfare_ready"), 0)]),
    Scenario(
      "takeover-counted", "who takes over what a dead worker had says so",
      on: .usual {
        $0.workers = 2
        $0.streams = 2
        $0.audiences = [ScenarioAudience(1, followers: 400, shards: 8)]
      },
      actions: [
        .at(.seconds(1), .kill("worker-1")), .at(.seconds(40), .look("then", at: "worker-2")),
      ],
      bounds: .nobodyLost + [
        .least(.measured("then", series: "fanfare_claims_taken_over_total"), 1)
      ]),
  ]

  /// What Redis has lost of an event.
  static let forgotten: [Scenario] = [
    forgets("forgotten-hash", "", []),
    forgets("forgotten-marks", ":settled", []),
    forgets(
      "forgotten-and-read-again", "", [.at(.seconds(30), .kafkaRepeats(topic: 0))]),
  ]

  private static func forgets(
    _ name: String, _ part: String, _ more: [ScenarioAction]
  ) -> Scenario {
    Scenario(
      name, "an event of which Redis has lost something comes to its end",
      on: .usual {
        $0.streams = 4
        $0.audiences = [ScenarioAudience(1, followers: 800, shards: 16)]
      },
      actions: [
        .at(.seconds(1), .redisForgets("e1", part: part)),
        .at(.seconds(29), .look("then", at: "worker-1")),
      ] + more,
      bounds: [
        .exactly(.doubled, 0), .most(.settled, 28),
        .least(.counted("e1", field: "forgotten_ms"), 1),
        .exactly(.requests("e1", 0...1_000), 800),
        .exactly(.measured("then", series: "fanfare_fanout_duration_seconds_count"), 0),
      ])
  }

  /// Records that are read once more.
  static let again: [Scenario] = [
    Scenario(
      "read-again-when-done", "what is done stays done, whoever reads its records again",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 400, shards: 8)] },
      actions: [
        .at(.seconds(20), .kill("worker-1")), .at(.seconds(21), .rewind),
        .at(.seconds(22), .start("worker-2")),
        .at(.seconds(50), .look("then", at: "worker-2")),
      ],
      bounds: .onceEach + [
        .exactly(.requests("e1", 0...1_000), 400), .exactly(.counted("e1", field: "settled"), 8),
        .exactly(
          .measured("then", series: "fanfare_segments_total{result=\"already_settled\"}"), 8),
        .exactly(.measured("then", series: "fanfare_events_total{result=\"resumed\"}"), 0),
      ]),
    Scenario(
      "read-again-in-the-middle", "nor is what is under way begun again",
      on: .usual {
        $0.streams = 4
        $0.audiences = [ScenarioAudience(1, followers: 512, shards: 256)]
      },
      actions: [
        .at(.milliseconds(1_200), .stop("worker-1")), .at(.seconds(4), .rewind),
        .at(.seconds(5), .start("worker-2")),
        .at(.seconds(50), .look("then", at: "worker-2")),
      ],
      bounds: .onceEach + [
        .exactly(.requests("e1", 0...1_000), 512), .exactly(.counted("e1", field: "settled"), 256),
        .exactly(.counted("e1", field: "published"), 256),
        .exactly(.measured("then", series: "fanfare_events_total{result=\"resumed\"}"), 1),
      ]),
    Scenario(
      "written-twice", "records that stand twice in Kafka count once",
      on: .usual {
        $0.streams = 4
        $0.audiences = [ScenarioAudience(1, followers: 512, shards: 16)]
      },
      actions: [
        .at(.seconds(1), .kafkaRepeats(topic: 1)), .at(.seconds(2), .kafkaRepeats(topic: 0)),
        .at(.seconds(20), .kafkaRepeats(topic: 1)), .at(.seconds(21), .kafkaRepeats(topic: 0)),
        .at(.seconds(50), .look("then", at: "worker-1")),
      ],
      bounds: .onceEach + [
        .exactly(.requests("e1", 0...1_000), 512), .exactly(.counted("e1", field: "settled"), 16),
        .exactly(.measured("then", series: "fanfare_events_total{result=\"duplicate\"}"), 3),
        .exactly(.measured("then", series: "fanfare_segments_total{result=\"settled\"}"), 16),
      ]),
    Scenario(
      "giant-of-256", "a giant comes to Kafka window by window",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 512, shards: 256)] },
      bounds: .onceEach + [
        .exactly(.counted("e1", field: "published"), 256), .most(.settled, 10),
      ]),
  ]

  /// What goes to the dead letters, and comes back from there.
  static let letters: [Scenario] = [
    letter(
      "dead-letter", [],
      [
        .exactly(.counted("e1", field: "dead_lettered"), 1),
        .exactly(.counted("e1", field: "settled"), 7), .most(.settled, 10),
      ]),
    letter(
      "dead-letter-sent-again",
      [.at(.seconds(12), .mendShard(1, shard: 3)), .at(.seconds(13), .replay)],
      [
        .exactly(.counted("e1", field: "dead_lettered"), 0),
        .exactly(.counted("e1", field: "settled"), 8), .exactly(.lost, 0),
        .exactly(.requests("e1", 0...1_000), 400),
        .exactly(.measured("then", series: "fanfare_events_total{result=\"duplicate\"}"), 0),
      ]),
    Scenario(
      "event-letter-sent-again", "an event that was refused goes on when it is sent again",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 40)] },
      events: [ScenarioEvent("e1", of: 1, at: .milliseconds(500))],
      actions: [
        .at(.zero, .breakHeading(1)), .at(.seconds(5), .mendHeading(1)),
        .at(.seconds(6), .replay), .at(.seconds(30), .look("then", at: "worker-1")),
      ],
      bounds: .onceEach + [
        .exactly(.requests("e1", 5...1_000), 40),
        .exactly(.measured("then", series: "fanfare_events_total{result=\"duplicate\"}"), 0),
      ]),
  ]

  private static func letter(
    _ name: String, _ more: [ScenarioAction], _ bounds: [ScenarioBound]
  ) -> Scenario {
    Scenario(
      name, "an event says what of it is in the dead letters, until that is sent again",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 400, shards: 8)] },
      actions: [.at(.zero, .breakShard(1, shard: 3))] + more + [
        .at(.seconds(40), .look("then", at: "worker-1"))
      ],
      bounds: [.exactly(.doubled, 0), .exactly(.miscounted, 0)] + bounds + [
        .exactly(.stats("dead_letters"), 1), .exactly(.stats("dead_letters:unprocessable"), 1),
      ])
  }

  /// Clocks that differ.
  static let clocks: [Scenario] = [
    Scenario(
      "redis-set-back", "claims end although Redis' clock was set back",
      on: .usual {
        $0.streams = 4
        $0.audiences = [ScenarioAudience(1, followers: 400, shards: 8)]
      },
      events: [ScenarioEvent("e1", of: 1, at: .seconds(1), expiresIn: 7_200)],
      actions: [
        .at(.zero, .redisClock(.seconds(3_600))), .at(.seconds(2), .kill("worker-1")),
        .at(.milliseconds(2_500), .redisClock(.zero)), .at(.seconds(3), .start("worker-2")),
      ],
      bounds: .nobodyLost + [.most(.lastPush("e1"), 40)])
  ]

  /// No more pushes a second than somebody allows.
  static let limited: [Scenario] = [
    Scenario(
      "limit-of-an-event", "an event has as many pushes a second as it says",
      events: [ScenarioEvent("e1", of: 1, rate: 200)],
      bounds: .onceEach + [
        .within(.lastPush("e1"), 9...11.5), .within(.requests("e1", 0...1), 100...260),
        .within(.requests("e1", 4...5), 180...220),
      ]),
    Scenario(
      "limit-of-an-app", "two workers share what an app may send",
      on: .usual {
        $0.workers = 2
        $0.settings = [.rate(World.app, 100)]
        $0.audiences = [
          ScenarioAudience(1, followers: 300, shards: 8), ScenarioAudience(2, followers: 300),
        ]
      },
      events: [ScenarioEvent("e1", of: 1), ScenarioEvent("e2", of: 2)],
      bounds: .onceEach + [
        .least(.requests("e1", 1...4), 90), .least(.requests("e2", 1...4), 90),
        .most(.requests("e1", 0...4), 330), .most(.lastPush("e2"), 8),
      ]),
    Scenario(
      "limit-after-a-rest", "what was not sent in a quiet time is not saved up",
      on: .usual {
        $0.settings = [.rate(World.app, 50)]
        $0.audiences = [
          ScenarioAudience(1, followers: 5), ScenarioAudience(2, followers: 300),
        ]
      },
      events: [ScenarioEvent("e1", of: 1), ScenarioEvent("e2", of: 2, at: .seconds(30))],
      bounds: .onceEach + [.most(.requests("e2", 30...31), 75), .least(.lastPush("e2"), 5)]),
    Scenario(
      "limit-and-clock-set-back", "a limit goes on although Redis' clock was set back",
      on: .usual {
        $0.settings = [.rate(World.app, 100)]
        $0.audiences = [ScenarioAudience(1, followers: 300)]
      },
      events: [ScenarioEvent("e1", of: 1, at: .seconds(1))],
      actions: [
        .at(.zero, .redisClock(.seconds(60))), .at(.seconds(2), .redisClock(.zero)),
      ],
      bounds: .onceEach + [.most(.lastPush("e1"), 8)]),
    Scenario(
      "limited-beside-others", "an event with a limit delays none without",
      on: .usual {
        $0.audiences = [
          ScenarioAudience(1, followers: 20), ScenarioAudience(2, followers: 1_000, shards: 4),
          ScenarioAudience(9, followers: 2_000, shards: 64),
        ]
      },
      events: [
        ScenarioEvent("limited", of: 9, expiresIn: 20, rate: 5, disturbs: true),
        ScenarioEvent("small", of: 1, at: .seconds(2)),
        ScenarioEvent("medium", of: 2, at: .milliseconds(2_100)),
      ],
      bounds: .onceEach + [
        .most(.ratio("small"), 1.2), .most(.ratio("medium"), 1.1), .most(.settled, 25),
        .within(.expired("limited"), 1_850...1_930),
        .exactly(.counted("medium", field: "stragglers"), 0),
      ]),
    Scenario(
      "limited-beside-limited", "a slow limit of one app holds up no limited event of another",
      on: .usual {
        $0.settings = [.rate(World.app, 5), .rate(World.otherApp, 200)]
        $0.audiences =
          [ScenarioAudience(1, followers: 400, shards: 8, app: World.otherApp)]
          + (2...6).map { ScenarioAudience($0, followers: 200, shards: 32) }
      },
      events: (2...6).map {
        ScenarioEvent("slow-\($0)", of: $0, expiresIn: 15, disturbs: true)
      } + [ScenarioEvent("other", of: 1, at: .seconds(2))],
      bounds: .onceEach + [.most(.ratio("other"), 3.2), .most(.settled, 20)]),
  ]
}
