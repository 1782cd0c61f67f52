import APNsSimulator

/// Apple is in trouble, or makes trouble.
extension Scenario {
  static let apple: [Scenario] = [
    Scenario(
      "outage-30s", "events that an outage caught go on within some five seconds of its end",
      actions: [
        .at(.seconds(1), .apple { $0.mix = [.init(.refuse(503), probability: 1)] }),
        .at(.seconds(31), .appleIsWell),
      ],
      bounds: .onceEach + [
        .most(.lastPush("e1"), 39), .least(.requests("e1", 31.1...36), 1),
        .exactly(.rejected("e1"), 0), .most(.inVain, 520),
      ]),
    Scenario(
      "unreachable-10s", "connections are tried again with back-off, and its pushes wait",
      actions: .unreachable(from: .seconds(1), to: .seconds(11)),
      bounds: .nobodyLost + [
        .most(.lastPush("e1"), 32), .exactly(.rejected("e1"), 0), .most(.doubled, 32),
      ]),
    Scenario(
      "429-30", "30 % TooManyRequests leave six tenths of the goodput", on: .slowApple,
      actions: [.at(.zero, .apple { $0.mix = [.init(.refuse(429), probability: 0.3)] })],
      bounds: .onceEach + [
        .least(.goodput, 0.6), .exactly(.rejected("e1"), 0), .most(.inVain, 1_100),
      ]),
    Scenario(
      "429-60", "60 % TooManyRequests end no push by themselves", on: .slowApple,
      actions: [.at(.zero, .apple { $0.mix = [.init(.refuse(429), probability: 0.6)] })],
      bounds: .onceEach + [
        .least(.goodput, 0.3), .exactly(.rejected("e1"), 0), .most(.inVain, 3_700),
      ]),
    Scenario(
      "429-30-503-10", "of five requests three are accepted", on: .slowApple,
      actions: [
        .at(
          .zero,
          .apple {
            $0.mix = [
              .init(.refuse(429), probability: 0.3), .init(.refuse(503), probability: 0.1),
            ]
          })
      ],
      bounds: .onceEach + [
        ScenarioBound.least(.goodput, 0.5).known(
          toMiss: "0.6 (FAULTS F28); what an event of twenty seconds waits for are its back-offs"),
        .exactly(.rejected("e1"), 0),
      ]),
    Scenario(
      "refused-streams", "a stream that was refused is no try",
      actions: [.at(.zero, .apple { $0.mix = [.init(.reset(7), probability: 0.2)] })],
      bounds: .onceEach + [
        .least(.goodput, 0.6), .exactly(.rejected("e1"), 0), .most(.inVain, 620),
      ]),
    Scenario(
      "overload-2x", "what is sent follows what is taken, so that little is sent in vain",
      actions: [.at(.zero, .apple { $0.rate = 270 })],
      bounds: .onceEach + [
        .exactly(.rejected("e1"), 0), .most(.inVain, 320),
        // What Apple takes in 7.4 s, and a straggler's rest for what was refused last.
        .most(.lastPush("e1"), 15),
      ]),
    Scenario(
      "goaway-storm", "GOAWAY after each 200 requests leaves half of the rate",
      actions: [
        .at(
          .zero,
          .apple {
            $0.goAwayAfter = 200
            $0.goAwayBehind = 5
          })
      ],
      bounds: .onceEach + [
        .least(.goodput, 0.5), .exactly(.inVain, 0),
        .within(.counted("e1", field: "retried"), 10...1_000),
      ]),
    Scenario(
      "streams-1-1000-1-0-100", "the limit of streams is obeyed at once; 0 is waited for",
      on: .usual { $0.streams = 1 },
      actions: [
        .at(.seconds(1), .apple { $0.streams = 1_000 }),
        .at(.milliseconds(1_020), .apple { $0.streams = 1 }),
        .at(.seconds(2), .apple { $0.streams = 0 }),
        .at(.seconds(6), .apple { $0.streams = 100 }),
      ],
      bounds: .onceEach + [
        .exactly(.requests("e1", 2.01...5.99), 0), .exactly(.inVain, 0),
        .most(.lastPush("e1"), 17),
      ]),
    Scenario(
      "silent-connection", "what had no answer is sent again on a connection of its own",
      actions: [.at(.seconds(1), .silenceOneConnection)],
      bounds: .nobodyLost + [
        .exactly(.rejected("e1"), 0), .most(.doubled, 16), .most(.lastPush("e1"), 10),
      ]),
    Scenario(
      "silent-30s", "connections are replaced, a few pushes ask, all others wait",
      actions: [
        .at(.seconds(1), .apple { $0.mix = [.init(.silence, probability: 1)] }),
        .at(.seconds(31), .appleIsWell),
      ],
      bounds: .onceEach + [
        .exactly(.rejected("e1"), 0), .most(.inVain, 40), .most(.lastPush("e1"), 45),
      ]),
    Scenario(
      "closing-tokens", "these tokens end as Unanswered, and cost nobody else a push",
      on: .marked(.init(every: 1_000, answer: "0dc0")),
      bounds: .nobodyLost + [.exactly(.rejected("e1"), 2), .most(.ratio("e1"), 1.5)]),
    Scenario(
      "sticky-tokens", "pushes that cannot be sent do not delay those that can",
      on: .marked(.init(every: 500, answer: "0429")),
      bounds: .onceEach + [.exactly(.rejected("e1"), 4), .most(.ratio("e1"), 1.1)]),
    Scenario(
      "sticky-in-each-segment", "one sticky device a segment stops no lane",
      on: .usual {
        $0.audiences = [
          ScenarioAudience(
            1, followers: 3_200, shards: 64, marked: [.init(every: 25, answer: "0429")])
        ]
      },
      bounds: .onceEach + [.exactly(.rejected("e1"), 128), .most(.ratio("e1"), 1.2)]),
    Scenario(
      "silent-in-each-segment", "nor does one that is never answered",
      on: .usual {
        $0.streams = 200
        $0.audiences = [
          ScenarioAudience(
            1, followers: 1_280, shards: 128, marked: [.init(every: 10, answer: "0fff")])
        ]
      },
      events: [ScenarioEvent("e1", of: 1, expiresIn: 15)],
      bounds: .onceEach + [
        .exactly(.rejected("e1"), 128), .exactly(.expired("e1"), 0), .most(.ratio("e1"), 1.3),
        .most(.settled, 60),
      ]),
    dead("unregistered-5", answer: "0410"),
    dead("bad-tokens-5", answer: "0400"),
    dead("bad-tokens-cut", answer: "0400") {
      $0.cutAfter = 40
      $0.endAfter = 1_000
    },
    Scenario(
      "credentials-1m", "the push waits, is never rejected for it, and goes afterwards",
      actions: [
        .at(
          .seconds(1),
          .apple {
            $0.mix = [.init(.refuse(Refusal(.invalidProviderToken)), probability: 1)]
          }),
        .at(.seconds(61), .appleIsWell),
      ],
      bounds: .onceEach + [
        .exactly(.rejected("e1"), 0), .most(.inVain, 120), .most(.lastPush("e1"), 80),
      ]),
    Scenario(
      "wave-of-410s", "of a quiet app nine devices at most are removed in a wave",
      on: .marked(.init(every: 1, answer: "0410"), followers: 1_000),
      bounds: .onceEach + [
        .exactly(.rejected("e1"), 1_000), .most(.counted("e1", field: "pruned"), 9),
        .least(.counted("e1", field: "prune_withheld"), 991), .exactly(.inVain, 0),
      ]),
    Scenario(
      "expiry-in-outage", "past its expiry a push is not sent",
      events: [ScenarioEvent("e1", of: 1, expiresIn: 20)],
      actions: [
        .at(.seconds(1), .apple { $0.mix = [.init(.refuse(503), probability: 1)] }),
        .at(.seconds(60), .appleIsWell),
      ],
      bounds: .onceEach + [
        .exactly(.requests("e1", 20...1_000), 0), .exactly(.rejected("e1"), 0),
        .most(.settled, 21),
      ]),
  ]

  /// One device in twenty is dead.
  private static func dead(
    _ name: String, answer: String,
    _ change: @escaping @Sendable (inout SimulatorScript) -> Void = { _ in }
  ) -> Scenario {
    Scenario(
      name, "beside dead tokens good ones have nine tenths of their rate",
      on: .marked(.init(every: 20, answer: answer)), actions: [.at(.zero, .apple(change))],
      bounds: .onceEach + [
        .least(.goodput, 0.9), .exactly(.rejected("e1"), 100), .exactly(.inVain, 0),
      ])
  }
}

extension ScenarioSetUp {
  /// Sends some 100 pushes a second: an event outlasts its back-offs.
  static let slowApple = usual { $0.streams = 3 }

  /// Some of the followers' devices have an answer of their own.
  static func marked(
    _ marked: ScenarioAudience.Marked, followers: Int = 2_000
  ) -> ScenarioSetUp {
    usual {
      $0.audiences = [ScenarioAudience(1, followers: followers, shards: 16, marked: [marked])]
    }
  }
}

extension SimulatedAnswer {
  /// Apple's usual reason with this status.
  static func refuse(_ status: Int) -> SimulatedAnswer {
    guard let reason = AppleReason.usual(for: status) else {
      preconditionFailure("Apple has no reason for \(status)")
    }
    return .refuse(Refusal(reason))
  }
}
