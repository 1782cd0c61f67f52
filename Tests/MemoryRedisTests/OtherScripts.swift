import Checkout
import Redis

@testable import API
@testable import Expand
@testable import MemoryRedis
@testable import Record

/// The scripts on statistics, streamers, limits, users' hours and imports, and those that backends
/// run themselves.
enum OtherScripts {
  static let all: [ScriptCase] = statistics + streamers + limits + imports + config

  private static let statistics: [ScriptCase] = [
    ScriptCase("sums", SumScripts.add.source) { dice in
      let event = dice.event()
      let keys = ["total", "day:1", "minute:1", "events", "fanouts", "sums:\(event)"]
      return ScriptCase.Call(
        keys: keys.map { "ffd:{stats}:\($0)" },
        arguments: [
          "id": event, "day_seconds": "86400", "minute_seconds": "3600",
          "known_seconds": "691200", "maximum_entries": dice.pick(["5", "100", "1000"]),
        ], list: dice.sums())
    },
    ScriptCase("noteSums", SumScripts.note.source) { dice in
      ScriptCase.Call(
        keys: [dice.eventKeys(dice.event())[0]], arguments: ["errors": dice.count()])
    },
    ScriptCase("series", RecordScripts.series.source) { dice in
      let identifier = "\(dice.now / 10_000)-0"
      return ScriptCase.Call(
        keys: ["ffd:{stats}:total", "ffd:{stats}:series"],
        arguments: ["id": identifier, "maximum_entries": dice.pick(["10", "100"])],
        list: ["accepted", "expired", "segments"])
    },
    ScriptCase("countLetters", DeadLetterScripts.count.source) { dice in
      ScriptCase.Call(
        keys: [
          "ffd:{stats}:total", "ffd:{stats}:day:1", "ffd:{stats}:minute:1",
          "ffd:{stats}:letters:" + dice.pick(["1", "2", "3"]),
        ],
        arguments: [
          "day_seconds": "86400", "minute_seconds": "3600", "receipt_seconds": "600",
        ], list: ["dead_letters", dice.count()])
    },
  ]

  private static let streamers: [ScriptCase] = [
    ScriptCase("register", StreamerScripts.register.source) { dice in
      ScriptCase.Call(
        keys: ["ffd:{s:\(dice.streamer())}:streams"],
        arguments: [
          "id": dice.event(), "stream": dice.pick(["st1", "st2"]),
          "kind": dice.pick(["", "app:live", "app:soon"]), "occurred_ms": dice.time(),
          "cooldown_ms": dice.pick(["0", "1000", "600000"]), "lifetime_seconds": dice.seconds(),
          "release": dice.pick(["", "release"]),
        ])
    },
    ScriptCase("takeBack", StreamerScripts.takeBack.source) { dice in
      ScriptCase.Call(
        keys: ["ffd:{s:\(dice.streamer())}:streams"],
        arguments: [
          "id": dice.event(), "kind": dice.pick(["", "app:live"]),
          "again": dice.pick(["", "again"]), "release": dice.pick(["", "release"]),
        ])
    },
    ScriptCase("end", StreamerScripts.end.source) { dice in
      ScriptCase.Call(
        keys: ["ffd:{s:\(dice.streamer())}:streams"],
        arguments: [
          "stream": dice.pick(["st1", "st2"]), "ended_ms": dice.time(),
          "lifetime_seconds": dice.seconds(), "ahead_ms": "60000",
        ])
    },
  ]

  private static let limits: [ScriptCase] = [
    ScriptCase("lease", LimitScripts.lease.source) { dice in
      ScriptCase.Call(
        keys: ["ffd:{l:" + dice.pick(["a", "b"]) + "}"],
        arguments: [
          "rate": dice.pick(["1", "3", "7", "100", "1000", "33333"]),
          "pushes": dice.pick(["1", "50", "1000"]), "lifetime_seconds": "60",
        ])
    },
    ScriptCase("removals", RemovalScript.ask.source) { dice in
      let answers = dice.roll(200)
      return ScriptCase.Call(
        keys: ["ffd:{a:com.a}:removals"],
        arguments: [
          "answers": "\(answers)", "removals": "\(dice.roll(answers + 1))", "samples": "100",
          "share": "20", "window_ms": dice.pick(["1000", "60000"]), "lifetime_seconds": "86400",
        ])
    },
    ScriptCase("hourlyCap", HourlyCap.script.source) { dice in
      ScriptCase.Call(
        keys: ["ffd:{u:\(dice.user())}:reached"],
        positional: ["\(dice.event())\(dice.roll(5))", "3", "3600"])
    },
  ]

  private static let imports: [ScriptCase] = [
    ScriptCase("import", ImportRecords.saving.source) { dice in
      ScriptCase.Call(
        keys: ["ffd:{i:" + dice.pick(["1", "2"]) + "}"],
        arguments: [
          "report": "{}", "state": dice.pick(["running", "done"]), "now": dice.time(),
          "lifetime_seconds": "86400", "run": dice.pick(["r1", "r2"]),
          "silence_ms": dice.chance(40) ? "30000" : nil,
        ])
    }
  ]

  private static let config: [ScriptCase] = [
    ScriptCase("bind", text("bind.lua")) { dice in
      let time = dice.chance(50) ? [dice.time()] : []
      return ScriptCase.Call(
        keys: [dice.tokenKeys()[0]],
        positional: [
          dice.pick(["bind", "bind", "bind", "unbind", "x"]), dice.user(),
          dice.pick(["production", "sandbox"]), dice.pick(["com.a", "com.b", "c d"]),
        ] + (dice.chance(5) ? [dice.pick(["1795726985", "x", "1.5", "9e15"])] : time))
    },
    ScriptCase("follow", text("follow.lua")) { dice in
      let streamer = dice.streamer()
      let plain = dice.chance(30) ? ["followers:\(streamer)"] : []
      return ScriptCase.Call(
        keys: ["ffd:{f:\(streamer)}"] + plain,
        positional: [dice.pick(["follow", "follow", "unfollow", "x"]), dice.user()])
    },
  ]

  private static func text(_ name: String) -> String {
    (try? Checkout.text("Config/redis/\(name)")) ?? ""
  }
}

extension ScriptDice {
  fileprivate mutating func sums() -> [String] {
    var sums = [".since", "\((now / 1_000_000) * 1_000_000_000 + Int64(roll(2)))"]
    let names = ["accepted", "expired", "segments", ".begun", "rejected:Unregistered"]
    for name in names where chance(60) { sums += [name, "\(roll(40))"] }
    if chance(50) {
      sums += [".ends", "\(1 + roll(3))"]
      let ends = [#"["event","e1","a\/b","\u00e9\n"]"#, "[1,2]", "{", "7"]
      for number in 1...3 {
        sums += [".end:\(number)", pick(ends)]
      }
    }
    return sums
  }
}
