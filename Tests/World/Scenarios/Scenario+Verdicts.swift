/// What becomes of devices that Apple takes no pushes for, and of events that come too often or too
/// late.
extension Scenario {
  static let verdicts: [Scenario] = [
    Scenario(
      "gone", "what Apple calls gone is removed, and told once",
      on: .marked(.init(every: 20, answer: "0410")),
      bounds: .onceEach + [
        .exactly(.counted("e1", field: "pruned"), 100), .exactly(.stats("pruned"), 100),
        .exactly(.counted("e1", field: "quarantined"), 0), .exactly(.news, 100),
      ]),
    Scenario(
      "gone-before", "a device that was bound since stays",
      on: .marked(.init(every: 20, answer: "0412")),
      bounds: .onceEach + [
        .exactly(.counted("e1", field: "prune_refused"), 100),
        .exactly(.counted("e1", field: "pruned"), 0), .exactly(.news, 0),
      ]),
    Scenario(
      "unusable", "what is no token is set aside where most are taken",
      on: .marked(.init(every: 20, answer: "0400")),
      bounds: .onceEach + [
        .exactly(.counted("e1", field: "quarantined"), 100), .exactly(.news, 100),
      ]),
    Scenario(
      "unusable-one-of-three", "and is not where many are not",
      on: .marked(.init(every: 3, answer: "0400"), followers: 150),
      bounds: .onceEach + [
        .exactly(.counted("e1", field: "quarantined"), 0),
        .exactly(.counted("e1", field: "quarantine_withheld"), 50), .exactly(.news, 0),
      ]),
    Scenario(
      "unusable-of-few", "nor where few were sent",
      on: .usual {
        $0.audiences = [
          ScenarioAudience(1, followers: 8, marked: [.init(every: 8, answer: "0400")])
        ]
      },
      bounds: .onceEach + [
        .exactly(.counted("e1", field: "quarantined"), 0),
        .exactly(.counted("e1", field: "quarantine_withheld"), 1),
      ]),
    Scenario(
      "undated", "what cannot be compared costs no device in a minute",
      on: .usual {
        var audience = ScenarioAudience(
          1, followers: 200, marked: [.init(every: 10, answer: "0410")])
        audience.boundAt = "1700000000"
        $0.audiences = [audience]
      },
      events: (1...4).map { ScenarioEvent("e\($0)", of: 1, at: .seconds(15 * ($0 - 1))) },
      bounds: [
        .exactly(.stats("prune_undated"), 80), .exactly(.stats("pruned"), 0),
        .exactly(.stats("quarantined"), 0), .exactly(.wrongSums, 0),
      ]),
    Scenario(
      "wave-behind-good-pushes", "what was taken before does not cover for a wave",
      on: .usual {
        $0.audiences = [
          ScenarioAudience(1, followers: 2_000, shards: 16),
          ScenarioAudience(2, followers: 120, marked: [.init(every: 1, answer: "0410")]),
        ]
      },
      events: [ScenarioEvent("e1", of: 1), ScenarioEvent("e2", of: 2, at: .seconds(10))],
      bounds: .onceEach + [.exactly(.counted("e2", field: "pruned"), 0)]),
    Scenario(
      "one-by-one", "nor do the same good pushes for one device after the other",
      on: .usual {
        $0.audiences =
          [ScenarioAudience(1, followers: 15)]
          + (2...25).map {
            ScenarioAudience($0, followers: 1, marked: [.init(every: 1, answer: "0410")])
          }
      },
      events: [ScenarioEvent("e1", of: 1)]
        + (2...25).map { ScenarioEvent("e\($0)", of: $0, at: .seconds($0)) },
      bounds: .onceEach + [.within(.stats("pruned"), 1...4)]),
  ]

  static let streams: [Scenario] = [
    Scenario(
      "cooldown", "a streamer who comes back at once is told of once",
      on: .usual {
        $0.settings = [.cooldown(.seconds(60))]
        $0.audiences = [ScenarioAudience(1, followers: 40), ScenarioAudience(2, followers: 5)]
      },
      events: [
        ScenarioEvent("e1", of: 1), ScenarioEvent("e2", of: 1, at: .seconds(5)),
        ScenarioEvent("e3", of: 2, at: .seconds(6)),
        ScenarioEvent("e4", of: 1, at: .seconds(90)),
      ],
      bounds: [
        .exactly(.requests("e1", 0...60), 40), .exactly(.requests("e1", 60...1_000), 40),
        .exactly(.requests("e3", 0...60), 5), .exactly(.stats("events_stopped"), 1),
        .exactly(.stats("events"), 4), .exactly(.wrongSums, 0),
      ]),
    Scenario(
      "stream-ended-before", "an event that is read behind the end of its stream is not sent",
      on: .usual { $0.audiences = [ScenarioAudience(1, followers: 40)] },
      events: [ScenarioEvent("e1", of: 1, at: .seconds(2), ago: 30)],
      actions: [.at(.zero, .streamEnds(1))],
      bounds: [
        .exactly(.requests("e1", 0...1_000), 0), .exactly(.stats("events_stopped"), 1),
        .most(.settled, 4),
      ]),
    Scenario(
      "live-again", "who is live again under the same name is told of",
      on: .slowApple, events: [ScenarioEvent("e1", of: 1)],
      actions: [.at(.seconds(2), .streamEnded(1, ago: 60))],
      bounds: .onceEach + [.exactly(.cancelled("e1"), 0)]),
  ]
}
