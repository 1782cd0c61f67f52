import Redis

@testable import Devices
@testable import Tokens

/// The scripts on users, tokens and audiences.
enum UserScripts {
  static let all: [ScriptCase] = tokens + devices + erasures + audiences + pruning

  private static let fourKeys = ["bindings", "bound", "quarantined", "moves"]

  /// How long what is kept lives, and when a device can have been bound.
  private static let lifetimes: ScriptArguments = [
    "moves_lifetime_seconds": "600", "pruned_lifetime_seconds": "604800", "pruned_maximum": "3",
    "undated_lifetime_seconds": "604800", "earliest_ms": "1243814400000",
    "tolerance_ms": "86400000",
  ]

  private static let tokens: [ScriptCase] = [
    ScriptCase("claimToken", TokenScripts.claim.source) { dice in
      ScriptCase.Call(
        keys: dice.tokenKeys(),
        arguments: lifetimes + [
          "user": dice.user(), "spares_others": dice.chance(30) ? "1" : nil,
        ])
    },
    ScriptCase("releaseToken", TokenScripts.release.source) { dice in
      ScriptCase.Call(keys: dice.tokenKeys(), arguments: lifetimes + ["user": dice.user()])
    },
    ScriptCase("settleToken", TokenScripts.settle.source) { dice in
      let former: ScriptArguments =
        dice.chance(50) ? ["former": dice.user(), "former_seconds": "600"] : [:]
      return ScriptCase.Call(
        keys: dice.tokenKeys(),
        arguments: lifetimes + former + [
          "number": dice.moveNumber(), "owner": dice.pick(["", dice.user()]),
        ])
    },
    ScriptCase("leave", TokenScripts.leave.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), fourKeys),
        arguments: lifetimes + ["token": dice.token(), "number": dice.moveNumber()])
    },
    ScriptCase("lookForToken", TokenScripts.look.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), fourKeys),
        arguments: lifetimes + ["token": dice.token(), "number": dice.moveNumber()])
    },
  ]

  private static let devices: [ScriptCase] = [
    ScriptCase("take", DeviceScripts.take.source) { dice in
      let devices = dice.some(3) { [$0.member(), $0.moveNumber(), $0.pick(["", "1"])] }.joined()
      return ScriptCase.Call(
        keys: dice.userKeys(dice.user(), fourKeys),
        arguments: lifetimes + ["at": dice.time()], list: Array(devices))
    },
    ScriptCase("replace", DeviceScripts.replace.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), fourKeys),
        arguments: lifetimes + [
          "at": dice.time(), "member": dice.member(), "number": dice.moveNumber(),
          "is_returning": dice.pick(["", "1"]), "old": dice.member(),
        ])
    },
    ScriptCase("dropDevice", DeviceScripts.drop.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), fourKeys),
        arguments: [
          "token": dice.token(), "environment": dice.pick(["", "production"]),
          "topic": dice.pick(["", "com.a"]),
        ])
    },
    ScriptCase("restore", DeviceScripts.restore.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), fourKeys),
        arguments: lifetimes + [
          "member": dice.member(), "number": dice.moveNumber(),
          "is_returning": dice.pick(["", "1"]), "value": "BadDeviceToken \(dice.now)",
          "bound_at": dice.pick(["", dice.time()]),
        ])
    },
    ScriptCase("profile", DeviceScripts.profile.source) { dice in
      let fields = dice.some(3) { [$0.pick(["a", "b", "c", "d"]), $0.pick(["", "1", "2"])] }
      return ScriptCase.Call(
        keys: dice.userKeys(dice.user(), ["profile"]), arguments: ["maximum_fields": "3"],
        list: Array(fields.joined()))
    },
    ScriptCase("lastBound", DeviceScripts.lastBound.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), ["bound"]),
        arguments: lifetimes + [
          "token": dice.token(), "maximum_devices": dice.pick(["2", "9"]),
        ])
    },
    ScriptCase("mute", DeviceScripts.mute.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), ["profile"]),
        arguments: [
          "field": "muted", "is_muting": dice.pick(["0", "1", "1"]),
          "maximum_bytes": dice.pick(["10", "100"]),
        ], list: dice.some(3) { "st\($0.roll(5))" })
    },
  ]

  private static let erasures: [ScriptCase] = [
    ScriptCase("erase", ErasureScripts.erase.source, isUnordered: true) { dice in
      let names = [
        "bindings", "bound", "quarantined", "profile", "reached", "verdicts", "undated",
      ]
      return ScriptCase.Call(
        keys: dice.userKeys(dice.user(), names),
        arguments: ["maximum_devices": dice.pick(["1", "9"])])
    },
    ScriptCase("eraseDevices", ErasureScripts.drop.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), ["bindings", "bound", "quarantined"]),
        list: dice.some(3) { $0.member() })
    },
    ScriptCase("finishErasure", ErasureScripts.finish.source) { dice in
      ScriptCase.Call(
        keys: dice.userKeys(dice.user(), ["bindings", "bound"]),
        list: dice.some(3) { $0.member() })
    },
    ScriptCase("markEmpty", ErasureScripts.markEmpty.source) { dice in
      ScriptCase.Call(
        keys: [dice.heading()],
        arguments: ["shards": dice.shards(), "generation": dice.generation()])
    },
    ScriptCase("removeEmpty", ErasureScripts.removeEmpty.source) { dice in
      ScriptCase.Call(
        keys: [dice.heading()],
        arguments: ["shards": dice.shards(), "generation": dice.generation()])
    },
  ]

  private static let audiences: [ScriptCase] = [
    ScriptCase("confirm", AudienceScripts.confirm.source) { dice in
      ScriptCase.Call(
        keys: [dice.heading()],
        arguments: [
          "shards": dice.pick(["", dice.shards()]),
          "generation": dice.pick(["", dice.generation()]),
          "next": dice.pick(["", dice.generation() + ":" + dice.shards()]),
          "change": dice.pick(["0", "1", "-1"]), "is_follow": dice.pick(["", "1"]),
        ])
    },
    ScriptCase("reserve", AudienceScripts.reserve.source) { dice in
      ScriptCase.Call(
        keys: [dice.heading()],
        arguments: [
          "shards": dice.pick(["", dice.shards()]),
          "generation": dice.pick(["", dice.generation()]), "maximum": dice.pick(["3", "1000"]),
        ])
    },
    ScriptCase("announce", AudienceScripts.announce.source) { dice in
      ScriptCase.Call(
        keys: [dice.heading()],
        arguments: [
          "shards": dice.pick(["", dice.shards()]),
          "generation": dice.pick(["", dice.generation()]),
          "next": dice.generation() + ":" + dice.shards(),
        ])
    },
    ScriptCase("forget", AudienceScripts.forget.source) { dice in
      ScriptCase.Call(
        keys: [dice.heading()],
        arguments: [
          "next": dice.generation() + ":" + dice.shards(), "kept": dice.pick(["", "0:1"]),
        ])
    },
    ScriptCase("flip", AudienceScripts.flip.source) { dice in
      ScriptCase.Call(
        keys: [dice.heading()],
        arguments: [
          "generation": dice.generation(), "shards": dice.shards(), "minimum": dice.count(),
          "followers": dice.count(),
        ])
    },
    ScriptCase("abandon", AudienceScripts.abandon.source) { dice in
      ScriptCase.Call(
        keys: [dice.heading()],
        arguments: ["generation": dice.generation(), "shards": dice.shards()])
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
        arguments: lifetimes + [
          "source": "\(dice.event())/\(dice.roll(3))", "receipt_seconds": "600",
          "now": "\(dice.now)",
        ], list: Array(verdicts.joined()))
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
