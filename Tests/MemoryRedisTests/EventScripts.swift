@testable import Record

/// The scripts on an event's keys.
enum EventScripts {
  static let all: [ScriptCase] = [
    ScriptCase("open", OpenScript.open.source) { dice in
      dice.ofEvent(keys: ["document"]) { dice in
        [
          dice.source(), dice.pick(["0", "1", "2", "2", "2"]), dice.plan(),
          dice.pick(["", "", dice.source()]),
          dice.pick(["", "0", "1"]), dice.owner(), "5000", dice.pick(["", "over"]),
          dice.pick(["", "", "", "cooldown"]), dice.pick(["", "all"]), "{}",
        ]
      }
    },
    ScriptCase("claim", ClaimScripts.claim.source) { dice in
      let keys = Array(dice.eventKeys(dice.event()).prefix(4))
      let segment = dice.segment()
      let parent = segment.contains("~") ? String(segment.prefix(1)) : ""
      return ScriptCase.Call(
        keys: keys,
        arguments: [
          segment, dice.owner(), dice.pick(["1000", "5000", "60000"]), dice.seconds(),
          dice.pick(["", "over"]), parent,
        ])
    },
    ScriptCase("renew", ClaimScripts.renew.source) { dice in
      let keys = dice.eventKeys(dice.event())
      let pairs = dice.some(3) { [$0.segment(), $0.owner()] }.joined()
      return ScriptCase.Call(keys: [keys[1], keys[2]], arguments: ["5000", "600"] + pairs)
    },
    ScriptCase("release", ClaimScripts.release.source) { dice in
      ScriptCase.Call(
        keys: [dice.eventKeys(dice.event())[2]],
        arguments: [dice.segment(), dice.owner(), dice.pick(["", "sent"])])
    },
    ScriptCase("drop", ClaimScripts.drop.source) { dice in
      ScriptCase.Call(
        keys: [dice.eventKeys(dice.event())[2]],
        arguments: [dice.seconds()] + dice.some(2) { $0.segment() })
    },
    ScriptCase("keepSettled", ClaimScripts.keepSettled.source) { dice in
      ScriptCase.Call(keys: [dice.eventKeys(dice.event())[1]], arguments: [dice.seconds()])
    },
    ScriptCase("settle", RecordScripts.settle.source, isUnordered: true) { dice in
      let untold = dice.pick(["untold:0", "untold:1"])
      var call = dice.ofEvent(keys: [untold, "trace:0"]) { $0.settled() }
      if dice.chance(50) { call.keys[7] = call.keys[0] }
      return call
    },
    ScriptCase("expire", RecordScripts.expire.source) { dice in
      dice.ofEvent { [$0.source(), $0.time()] }
    },
    ScriptCase("part", PartScript.part.source) { dice in
      dice.ofEvent(keys: ["trace:0"]) { dice in
        [dice.segment(), dice.owner(), "600", dice.count(), dice.count()] + dice.counters()
          + dice.notes(key: 8)
      }
    },
    ScriptCase("adopt", AdoptScript.adopt.source) { dice in
      dice.ofEvent { dice in
        [
          dice.pick(["0~1", "1~1"]), dice.owner(), "5000", dice.pick(["0", "1"]), dice.count(),
          dice.pick(["", "over"]),
        ]
      }
    },
    ScriptCase("verdicts", PruneScript.count.source) { dice in
      dice.ofEvent { [$0.segment(), $0.owner(), $0.count(), $0.count()] }
    },
    ScriptCase("deadLetter", DeadLetterScripts.note.source) { dice in
      dice.ofEvent { [$0.segment(), $0.pick(["1", "2"]), "code", $0.source()] }
    },
    ScriptCase("lose", DeadLetterScripts.lose.source) { dice in
      dice.ofEvent { [$0.pick(["1", "2"])] + $0.some(3) { $0.segment() } }
    },
    ScriptCase("published", DeadLetterScripts.published.source) { dice in
      dice.ofEvent { [$0.pick(["0", "1", "2", "3"])] }
    },
    ScriptCase("brake", BrakeScripts.set.source) { dice in
      ScriptCase.Call(
        keys: [dice.eventKeys(dice.event())[0]],
        arguments: [
          dice.pick(["", "", "paused", "cancelled"]), "\(dice.now)", "why", dice.seconds(),
          dice.pick(["", "ahead"]),
        ])
    },
    ScriptCase("note", RecordStage.noting.source) { dice in
      let keys = dice.eventKeys(dice.event())
      return ScriptCase.Call(
        keys: [keys[1], keys[0] + ":untold:" + dice.pick(["0", "1"])],
        arguments: [dice.segment(), dice.seconds()] + dice.some(3) { $0.member() })
    },
  ]
}

extension ScriptDice {
  fileprivate mutating func source() -> String { pick(["t/0/1", "t/0/2"]) }
  fileprivate mutating func plan() -> String { pick(["p1", "p1", "p2"]) }

  /// What settling takes behind what all take.
  fileprivate mutating func settled() -> [String] {
    let lists = chance(40) ? some(2) { [$0.pick(["0~1", "1~1"]), $0.count()] } : []
    return [
      segment(), pick(["1", "2", "2"]), pick(["0", time()]), pick(["0", time()]),
      pick(["", "limit"]), owner(), "600", count(), count(),
    ] + counters() + ["\(lists.count)", pick(["0", "3"])] + lists.joined() + notes(key: 9)
  }
}
