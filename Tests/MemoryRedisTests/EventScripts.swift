import Redis

@testable import Record

/// The scripts on an event's keys.
enum EventScripts {
  static let all: [ScriptCase] = [
    ScriptCase("open", OpenScript.open.source) { dice in
      dice.ofEvent(keys: ["document"]) { dice in
        (
          [
            "source": dice.source(), "segments": dice.pick(["0", "1", "2", "2", "2"]),
            "plan": dice.plan(), "replayed": dice.pick(["", "", dice.source()]),
            "segment": dice.pick(["", "0", "1"]), "owner": dice.owner(), "claim_ms": "5000",
            "over": dice.pick(["", "over"]), "refusal": dice.pick(["", "", "", "cooldown"]),
            "trace": dice.pick(["", "all"]), "document": "{}", "expires_ms": dice.time(),
            "waves": dice.pick(["", "", "40"]), "released": dice.pick(["", "", dice.source()]),
          ] + dice.times(), []
        )
      }
    },
    ScriptCase("schedule", ScheduleScripts.schedule.source) { dice in
      dice.ofEvent(keys: ["document"]) { dice in
        (
          [
            "source": dice.source(), "released": dice.pick(["", "", dice.source()]),
            "replayed": dice.pick(["", "", dice.source()]), "expires_ms": dice.time(),
            "document": dice.pick(["{}", "{ }"]), "longest_ms": "2592000000",
            "scheduled_seconds": dice.seconds(),
          ] + dice.times(), []
        )
      }
    },
    ScriptCase("reschedule", ScheduleScripts.reschedule.source) { dice in
      ScriptCase.Call(
        keys: [dice.eventKeys(dice.event())[0]],
        arguments: [
          "send_ms": dice.time(), "last_ms": dice.time(), "local_ms": dice.pick(["", dice.time()]),
          "ahead_ms": "3600000",
        ])
    },
    ScriptCase("claim", ClaimScripts.claim.source) { dice in
      let keys = Array(dice.eventKeys(dice.event()).prefix(4))
      let segment = dice.segment()
      let parent = segment.contains("~") ? String(segment.prefix(1)) : ""
      return ScriptCase.Call(
        keys: keys,
        arguments: [
          "segment": segment, "owner": dice.owner(),
          "claim_ms": dice.pick(["1000", "5000", "60000"]), "lifetime_seconds": dice.seconds(),
          "over": dice.pick(["", "over"]), "parent": parent,
        ])
    },
    ScriptCase("renew", ClaimScripts.renew.source) { dice in
      let keys = dice.eventKeys(dice.event())
      let pairs = dice.some(3) { [$0.segment(), $0.owner()] }.joined()
      return ScriptCase.Call(
        keys: [keys[1], keys[2]], arguments: ["claim_ms": "5000", "lifetime_seconds": "600"],
        list: Array(pairs))
    },
    ScriptCase("release", ClaimScripts.release.source) { dice in
      ScriptCase.Call(
        keys: [dice.eventKeys(dice.event())[2]],
        arguments: [
          "segment": dice.segment(), "owner": dice.owner(), "sent": dice.pick(["", "sent"]),
        ])
    },
    ScriptCase("drop", ClaimScripts.drop.source) { dice in
      ScriptCase.Call(
        keys: [dice.eventKeys(dice.event())[2]],
        arguments: ["lifetime_seconds": dice.seconds()], list: dice.some(2) { $0.segment() })
    },
    ScriptCase("keepSettled", ClaimScripts.keepSettled.source) { dice in
      ScriptCase.Call(
        keys: [dice.eventKeys(dice.event())[1]],
        arguments: ["lifetime_seconds": dice.seconds()])
    },
    ScriptCase("settle", RecordScripts.settle.source, isUnordered: true) { dice in
      let untold = dice.pick(["untold:0", "untold:1"])
      var call = dice.ofEvent(keys: [untold, "trace:0"]) { $0.settled() }
      if dice.chance(50) { call.keys[7] = call.keys[0] }
      return call
    },
    ScriptCase("expire", RecordScripts.expire.source) { dice in
      dice.ofEvent(keys: ["document"]) { dice in
        (
          [
            "source": dice.source(), "expires_ms": dice.time(),
            "released": dice.pick(["", "", dice.source()]),
            "replayed": dice.pick(["", "", dice.source()]),
          ], []
        )
      }
    },
    ScriptCase("part", PartScript.part.source) { dice in
      dice.ofEvent(keys: ["trace:0"]) { dice in
        let counters = dice.counters()
        let notes = dice.notes(key: 8)
        let arguments: ScriptArguments = [
          "segment": dice.segment(), "owner": dice.owner(), "receipt_seconds": "600",
          "counters": "\(counters.count / 2)", "pruned": dice.count(),
          "quarantined": dice.count(),
        ]
        return (arguments + notes.arguments, counters + notes.list)
      }
    },
    ScriptCase("adopt", AdoptScript.adopt.source) { dice in
      dice.ofEvent { dice in
        (
          [
            "segment": dice.pick(["0~1", "1~1"]), "owner": dice.owner(), "claim_ms": "5000",
            "parent": dice.pick(["0", "1"]), "pushes": dice.count(),
            "over": dice.pick(["", "over"]),
          ], []
        )
      }
    },
    ScriptCase("verdicts", PruneScript.count.source) { dice in
      dice.ofEvent { dice in
        (
          [
            "segment": dice.segment(), "owner": dice.owner(), "pruned": dice.count(),
            "quarantined": dice.count(),
          ], []
        )
      }
    },
    ScriptCase("deadLetter", DeadLetterScripts.note.source) { dice in
      dice.ofEvent { dice in
        (
          [
            "segment": dice.segment(), "segments": dice.pick(["1", "2"]), "code": "code",
            "source": dice.source(), "released": dice.pick(["", "", "released"]),
            "follows": dice.pick(["", "follows"]),
          ], []
        )
      }
    },
    ScriptCase("lose", DeadLetterScripts.lose.source) { dice in
      dice.ofEvent { (["segments": $0.pick(["1", "2"])], $0.some(3) { $0.segment() }) }
    },
    ScriptCase("published", DeadLetterScripts.published.source) { dice in
      dice.ofEvent { (["published": $0.pick(["0", "1", "2", "3"])], []) }
    },
    ScriptCase("brake", HaltScripts.set.source) { dice in
      ScriptCase.Call(
        keys: [dice.eventKeys(dice.event())[0]],
        arguments: [
          "wanted": dice.pick(["", "", "paused", "cancelled"]), "now": "\(dice.now)",
          "reason": "why", "lifetime_seconds": dice.seconds(),
          "ahead": dice.pick(["", "ahead"]),
        ])
    },
    ScriptCase("note", RecordStage.noting.source) { dice in
      let keys = dice.eventKeys(dice.event())
      return ScriptCase.Call(
        keys: [keys[1], keys[0] + ":untold:" + dice.pick(["0", "1"])],
        arguments: ["segment": dice.segment(), "lifetime_seconds": dice.seconds()],
        list: dice.some(3) { $0.member() })
    },
  ]
}

extension ScriptDice {
  fileprivate mutating func source() -> String { pick(["t/0/1", "t/0/2"]) }
  /// What `note_times` takes.
  fileprivate mutating func times() -> ScriptArguments {
    [
      "send_ms": time(), "last_ms": time(), "local_ms": pick(["", time()]),
      "appended_ms": pick(["0", time()]), "traceparent": pick(["", "00-a-b-01"]),
    ]
  }

  fileprivate mutating func plan() -> String { pick(["p1", "p1", "p2"]) }

  /// What settling takes besides what all take.
  fileprivate mutating func settled() -> (arguments: ScriptArguments, list: [String]) {
    let lists = chance(40) ? some(2) { [$0.pick(["0~1", "1~1"]), $0.count()] } : []
    let counters = counters()
    let notes = notes(key: 9)
    let arguments: ScriptArguments = [
      "segment": segment(), "segments": pick(["1", "2", "2"]),
      "first_push_ms": pick(["0", time()]), "last_push_ms": pick(["0", time()]),
      "obstacle": pick(["", "limit"]), "owner": owner(), "receipt_seconds": "600",
      "pruned": count(), "quarantined": count(), "counters": "\(counters.count / 2)",
      "straggler_lists": "\(lists.count)", "waited": pick(["0", "3"]),
    ]
    return (arguments + notes.arguments, counters + lists.joined() + notes.list)
  }
}
