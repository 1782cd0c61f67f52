@testable import Devices
@testable import Tokens

/// The scripts on users, tokens and audiences.
enum UserScripts {
  static let all: [ScriptCase] = tokens + devices + erasures + audiences + pruning

  private static let fourKeys = ["bindings", "bound", "quarantined", "moves"]

  private static let tokens: [ScriptCase] = [
    ScriptCase("claimToken", TokenScripts.claim.source) { dice in
      ScriptCase.Call(
        keys: dice.tokenKeys(),
        arguments: [dice.user()] + (dice.chance(30) ? ["politely"] : []))
    },
    ScriptCase("releaseToken", TokenScripts.release.source) { dice in
      ScriptCase.Call(keys: dice.tokenKeys(), arguments: [dice.user()])
    },
    ScriptCase("settleToken", TokenScripts.settle.source) { dice in
      ScriptCase.Call(
        keys: dice.tokenKeys(),
        arguments: [dice.moveNumber(), dice.pick(["", dice.user()])]
          + (dice.chance(50) ? [dice.user(), "600"] : []))
    },
    ScriptCase("leave", TokenScripts.leave.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), fourKeys), arguments: [dice.token(), dice.moveNumber()])
    },
    ScriptCase("lookForToken", TokenScripts.look.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), fourKeys), arguments: [dice.token(), dice.moveNumber()])
    },
  ]

  private static let devices: [ScriptCase] = [
    ScriptCase("take", DeviceScripts.take.source) { dice in
      let devices = dice.some(3) { [$0.member(), $0.moveNumber(), $0.pick(["", "1"])] }.joined()
      return ScriptCase.Call(
        keys: dice.userKeys(dice.user(), fourKeys), arguments: [dice.time()] + devices)
    },
    ScriptCase("replace", DeviceScripts.replace.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), fourKeys),
        arguments: [
          dice.time(), dice.member(), dice.moveNumber(), dice.pick(["", "1"]), dice.member(),
        ])
    },
    ScriptCase("dropDevice", DeviceScripts.drop.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), fourKeys),
        arguments: [
          dice.token(), dice.pick(["", "production"]), dice.pick(["", "com.a"]),
        ])
    },
    ScriptCase("restore", DeviceScripts.restore.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), fourKeys),
        arguments: [
          dice.member(), dice.moveNumber(), dice.pick(["", "1"]),
          "BadDeviceToken \(dice.now)", dice.pick(["", dice.time()]),
        ])
    },
    ScriptCase("profile", DeviceScripts.profile.source) { dice in
      let fields = dice.some(3) { [$0.pick(["a", "b", "c", "d"]), $0.pick(["", "1", "2"])] }
      return ScriptCase.Call(
        keys: dice.userKeys(dice.user(), ["profile"]), arguments: ["3"] + fields.joined())
    },
    ScriptCase("lastBound", DeviceScripts.lastBound.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), ["bound"]),
        arguments: [dice.token(), dice.pick(["2", "9"])])
    },
    ScriptCase("mute", ProfileScripts.mute.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), ["profile"]),
        arguments: ["muted", dice.pick(["0", "1", "1"]), dice.pick(["10", "100"])]
          + dice.some(3) { "st\($0.roll(5))" })
    },
  ]

  private static let erasures: [ScriptCase] = [
    ScriptCase("erase", ErasureScripts.erase.source, isUnordered: true) { dice in
      let names = [
        "bindings", "bound", "quarantined", "profile", "reached", "verdicts", "undated",
      ]
      return ScriptCase.Call(keys: dice.userKeys(dice.user(), names), arguments: [])
    },
    ScriptCase("eraseDevices", ErasureScripts.drop.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), ["bindings", "bound", "quarantined"]),
        arguments: dice.some(3) { $0.member() })
    },
    ScriptCase("finishErasure", ErasureScripts.finish.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), ["bindings", "bound"]),
        arguments: dice.some(3) { $0.member() })
    },
    ScriptCase("markEmpty", ErasureScripts.markEmpty.source) { dice in
      ScriptCase.Call(keys: [dice.heading()], arguments: [dice.shards(), dice.generation()])
    },
    ScriptCase("removeEmpty", ErasureScripts.removeEmpty.source) { dice in
      ScriptCase.Call(keys: [dice.heading()], arguments: [dice.shards(), dice.generation()])
    },
  ]

  private static let audiences: [ScriptCase] = [
    ScriptCase("confirm", AudienceScripts.confirm.source) { dice in
      ScriptCase.Call(
        keys: [dice.heading()],
        arguments: [
          dice.pick(["", dice.shards()]), dice.pick(["", dice.generation()]),
          dice.pick(["", dice.generation() + ":" + dice.shards()]), dice.pick(["0", "1", "-1"]),
          dice.pick(["", "1"]),
        ])
    },
    ScriptCase("reserve", AudienceScripts.reserve.source) { dice in
      ScriptCase.Call(
        keys: [dice.heading()],
        arguments: [
          dice.pick(["", dice.shards()]), dice.pick(["", dice.generation()]),
          dice.pick(["3", "1000"]),
        ])
    },
    ScriptCase("announce", AudienceScripts.announce.source) { dice in
      ScriptCase.Call(
        keys: [dice.heading()],
        arguments: [
          dice.pick(["", dice.shards()]), dice.pick(["", dice.generation()]),
          dice.generation() + ":" + dice.shards(),
        ])
    },
    ScriptCase("forget", AudienceScripts.forget.source) { dice in
      ScriptCase.Call(
        keys: [dice.heading()],
        arguments: [dice.generation() + ":" + dice.shards(), dice.pick(["", "0:1"])])
    },
    ScriptCase("flip", AudienceScripts.flip.source) { dice in
      ScriptCase.Call(
        keys: [dice.heading()],
        arguments: [dice.generation(), dice.shards(), dice.count(), dice.count()])
    },
    ScriptCase("abandon", AudienceScripts.abandon.source) { dice in
      ScriptCase.Call(keys: [dice.heading()], arguments: [dice.generation(), dice.shards()])
    },
  ]

  private static let pruning: [ScriptCase] = [
    ScriptCase("prune", PruneScripts.prune) { dice in
      let names = ["bindings", "bound", "quarantined", "verdicts", "undated"]
      let verdicts = dice.some(4) { dice -> [String] in
        let at = dice.pick([dice.time(), "-", ""])
        return [dice.pick(["gone", "gone", "unusable"]), at, "Unregistered", dice.member()]
      }
      return ScriptCase.Call(
        keys: dice.userKeys(dice.user(), names),
        arguments: ["\(dice.event())/\(dice.roll(3))", "600", "\(dice.now)"] + verdicts.joined())
    }
  ]
}

extension ScriptDice {
  fileprivate mutating func moveNumber() -> String {
    "\(now * 1000 + Int64(pick([0, 1, -1, -1_000_000, 1_000_000])))"
  }

  fileprivate mutating func heading() -> String { "ffd:{f:\(streamer())}" }
  fileprivate mutating func shards() -> String { pick(["1", "1", "2", "4"]) }
  fileprivate mutating func generation() -> String { pick(["0", "1", "2"]) }
}
