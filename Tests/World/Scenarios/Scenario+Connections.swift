import APNsSimulator

/// Apple's connections end, or answer nothing, over and over.
extension Scenario {
  static let connections: [Scenario] = [
    script(
      "closes-after-200", "a server that closes connections costs a part of the rate",
      [.least(.goodput, 0.8), .most(.doubled, 160)]
    ) { $0.dropAfter = 200 },
    script(
      "closes-after-20", "a server that closes each connection after twenty requests loses no push",
      [.most(.lastPush("e1"), 120), .most(.doubled, 800)]
    ) { $0.dropAfter = 20 },
    script(
      "closes-at-random", "one request in a hundred may end its connection",
      [.least(.goodput, 0.4), .most(.doubled, 400)]
    ) { $0.mix = [.init(.drop, probability: 0.01)] },
    script(
      "silent-at-random", "one request in a hundred may have no answer",
      [.least(.goodput, 0.5), .exactly(.doubled, 0), .most(.inVain, 60)]
    ) { $0.mix = [.init(.silence, probability: 0.01)] },
    script(
      "503-60", "60 % ServiceUnavailable end no push",
      [.least(.goodput, 0.25), .exactly(.doubled, 0), .most(.inVain, 6_600)]
    ) { $0.mix = [.init(.refuse(503), probability: 0.6)] },
    marked(
      "closing-tokens-100", "one token in a hundred may end its connection",
      [
        .exactly(.rejected("e1"), 20), .most(.doubled, 400), .most(.settled, 90),
        .least(.goodput, 0.4),
      ], answer: "0dc0", every: 100),
    marked(
      "closing-tokens-20", "one in twenty costs nobody else a push",
      [.exactly(.rejected("e1"), 100), .most(.doubled, 1_500), .most(.settled, 180)],
      answer: "0dc0", every: 20),
    marked(
      "silent-tokens-100", "one token in a hundred may never be answered",
      [.exactly(.rejected("e1"), 20), .exactly(.doubled, 0), .least(.goodput, 0.5)],
      answer: "0fff", every: 100),
    Scenario(
      "refused-3s-grown", "an outage costs none of the connections that a lane has opened",
      on: .usual {
        $0.workers = 3
        $0.mostConnections = 4
        $0.audiences = [ScenarioAudience(1, followers: 30_000, shards: 64)]
      },
      actions: .unreachable(from: .seconds(8), to: .seconds(11)),
      bounds: .nobodyLost + [
        .most(.lastPush("e1"), 20), .exactly(.rejected("e1"), 0), .most(.doubled, 600),
      ]),
    Scenario(
      "refused-3s", "the full rate is back within two seconds of an outage's end",
      on: .usual {
        $0.workers = 3
        $0.streams = 30
        $0.audiences = [ScenarioAudience(1, followers: 30_000, shards: 64)]
      },
      actions: .unreachable(from: .seconds(3), to: .seconds(6)),
      // What it takes undisturbed, 15.2 s, and the outage, and two seconds.
      bounds: .nobodyLost + [
        .most(.lastPush("e1"), 20.2), .exactly(.rejected("e1"), 0), .most(.doubled, 600),
      ]),
    Scenario(
      "forgotten-by-a-router", "after a quiet time no push waits for a connection that is dead",
      on: .usual {
        $0.audiences = [ScenarioAudience(1, followers: 400), ScenarioAudience(2, followers: 400)]
      },
      events: [ScenarioEvent("e2", of: 2), ScenarioEvent("e1", of: 1, at: .seconds(600))],
      actions: [.at(.seconds(100), .silenceAllConnections)],
      bounds: .onceEach + [.exactly(.rejected("e1"), 0), .most(.lastPush("e1"), 5)]),
    Scenario(
      "few-streams-far-away", "a large event gets more connections where Apple is far away",
      on: .usual {
        $0.mostConnections = 8
        $0.audiences = [ScenarioAudience(1, followers: 8_000, shards: 64)]
      },
      // With two connections it takes 15 s.
      bounds: .onceEach + [.exactly(.rejected("e1"), 0), .most(.lastPush("e1"), 12)]),
    Scenario(
      "silent-tokens-narrow", "tokens that are never answered leave the streams to others",
      on: .usual {
        $0.streams = 4
        $0.audiences = [
          ScenarioAudience(
            1, followers: 2_000, shards: 16, marked: [.init(every: 50, answer: "0fff")])
        ]
      },
      events: [ScenarioEvent("e1", of: 1, expiresIn: 180)],
      // Of twelve seeds most have none that expire, and the worst has 874.
      bounds: .onceEach + [.most(.expired("e1"), 1_000), .most(.lastPush("e1"), 181)]),
    Scenario(
      "goaway-after-100", "a proxy that ends connections after 100 requests slows nobody down",
      on: .usual {
        $0.streams = 500
        $0.audiences = [ScenarioAudience(1, followers: 10_000, shards: 64)]
      },
      actions: [.at(.zero, .apple { $0.goAwayAfter = 100 })],
      bounds: .onceEach + [.exactly(.inVain, 0), .most(.lastPush("e1"), 2)]),
  ]

  private static func script(
    _ name: String, _ promise: String, _ bounds: [ScenarioBound],
    _ change: @escaping @Sendable (inout SimulatorScript) -> Void
  ) -> Scenario {
    Scenario(
      name, promise,
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 2_000, shards: 16)] },
      actions: [.at(.zero, .apple(change))],
      bounds: .nobodyLost + [.exactly(.rejected("e1"), 0)] + bounds)
  }

  private static func marked(
    _ name: String, _ promise: String, _ bounds: [ScenarioBound], answer: String, every: Int
  ) -> Scenario {
    Scenario(
      name, promise, on: .marked(.init(every: every, answer: answer), followers: 2_000),
      bounds: .nobodyLost + bounds)
  }
}
