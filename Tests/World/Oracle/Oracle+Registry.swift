import Keyspace
import MemoryRedis
import Record

/// What Redis holds of devices and followers when nobody changes anything any more: it agrees with
/// itself, and with what the backends did.
extension Oracle {
  func checkRegistry(_ keys: [String]) {
    let moved = (0..<truth.devices).filter { !truth.isStatic($0) || book.goneSince[$0] != nil }
    var users: Set<Int> = []
    for device in moved {
      users.formUnion(truth.owners(of: device).map(\.user))
      checkOwners(of: device)
    }
    for user in users.sorted() { checkDevices(of: user) }
    for streamer in plan.streamers.indices { checkFollowers(of: streamer, keys) }
  }

  /// Who has bound a token last has it, and nobody else.
  private func checkOwners(of number: Int) {
    guard let device = devices[number], let last = truth.owners(of: number).last else { return }
    let (keyspace, member) = (world.keyspace, device.member)
    let owner = world.text(keyspace.tokenOwner(token: device.token))
    let isKept = last.span.ends == .max
    for user in Set(truth.owners(of: number).map(\.user)).sorted() where user != last.user {
      for key in [keyspace.bindings(user: "u\(user)"), keyspace.quarantined(user: "u\(user)")]
      where holds(key, member) {
        fail("device \(number) went from u\(user) to u\(last.user), and stands in \(key)")
      }
    }
    let user = "u\(last.user)"
    let isBound = world.holds(keyspace.bindings(user: user), member)
    let isAside = holds(keyspace.quarantined(user: user), member)
    let aside = world.hash(keyspace.quarantined(user: user))[member] ?? ""
    // What is quarantined stays the user's.
    let mayOwn = isBound || aside.contains(" quarantined ")
    if isBound ? owner != user : owner != nil && !(mayOwn && owner == user) {
      fail("device \(number) belongs to \(owner ?? "nobody"), is bound to \(user): \(isBound)")
    }
    if isBound, !isKept { fail("device \(number) was taken from \(user), and is bound") }
    if isAside, !isKept { fail("device \(number) was taken from \(user), and is kept for it") }
    if isKept, !isBound, !isAside {
      fail("device \(number) is of \(user), and neither bound nor set aside")
    }
    if isAside, book.goneSince[number] == nil {
      fail("device \(number) of \(user) is set aside, and Apple takes it")
    }
    checkMoves(of: device, keptFor: aside.contains(" pruned ") ? user : nil)
  }

  /// Nobody has still to leave a token, but who may get it back.
  private func checkMoves(of device: WorldDevice, keptFor user: String?) {
    guard !faults.all.contains(where: { $0.leavesStepsUndone }) else { return }
    let moves = world.hash(world.keyspace.tokenMoves(token: device.token))
    for name in moves.keys.sorted() where name.hasPrefix(":") && name.dropFirst() != user ?? "" {
      fail("device \(device.number) has still to leave \(name.dropFirst())")
    }
    if let user, moves[":" + user] == nil, !moves.isEmpty {
      fail("device \(device.number) is kept for \(user), and who binds it does not know")
    }
  }

  private func holds(_ key: String, _ field: String) -> Bool {
    if case .integer(1) = world.ask(key.hasSuffix("bindings") ? "SISMEMBER" : "HEXISTS", key, field)
    {
      true
    } else {
      false
    }
  }

  /// A device is bound or set aside, not both, and the time of each binding is known.
  private func checkDevices(of number: Int) {
    let (keyspace, user) = (world.keyspace, "u\(number)")
    let bound = world.hash(keyspace.bound(user: user))
    let bindings = world.members(keyspace.bindings(user: user))
    if Set(bound.keys) != bindings {
      fail("\(user) has \(bindings.sorted()), bound at \(bound.sorted { $0.key < $1.key })")
    }
    for (member, time) in bound.sorted(by: { $0.key < $1.key }) {
      guard let device = WorldDevice.number(in: member), let wanted = truth.boundAt[device],
        wanted.user == number
      else { continue }
      if Int64(time) != wanted.at {
        fail("device \(device) was bound at \(wanted.at), not \(time)")
      }
    }
    let aside = Set(world.hash(keyspace.quarantined(user: user)).keys)
    if !aside.isDisjoint(with: bindings) {
      fail("\(user) has devices that are set aside: \(aside.intersection(bindings).sorted())")
    }
  }

  /// Who follows is in the right shard of the generation that is read, and others are nowhere.
  private func checkFollowers(of streamer: Int, _ keys: [String]) {
    let (keyspace, name) = (world.keyspace, "s\(streamer)")
    let heading = world.hash(keyspace.followers(of: name))
    guard let shards = heading["shards"].flatMap({ Int($0) }),
      let generation = heading["generation"].flatMap({ Int($0) })
    else { return fail("\(name) has no followers' heading") }
    var found: Set<String> = []
    for shard in 0..<shards {
      let key = keyspace.followerShard(streamer: name, generation: generation, shard: shard)
      for user in world.members(key) {
        found.insert(user)
        if Keyspace.shard(of: user, shards: shards) != shard { fail("\(user) is in \(key)") }
      }
    }
    let wanted = Set(
      truth.everFollowed(streamer).filter { truth.follows($0, streamer) }.map { "u\($0)" })
    if found != wanted {
      fail(
        "\(name) is followed by \(found.subtracting(wanted).sorted()), who should not be there, "
          + "and not by \(wanted.subtracting(found).sorted())")
    }
    let known = "\(heading["next"] ?? "") \(heading["retired"] ?? "")".split(separator: " ")
    let generations = Set(known.map { String($0.prefix { $0 != ":" }) } + ["\(generation)"])
    for key in keys where key.hasPrefix("ffd:{f:\(name):") {
      let parts = key.split(separator: ":")
      if parts.count == 5, !generations.contains(String(parts[3])) {
        fail("\(key) is there, and nobody knows of it: \(heading)")
      }
    }
  }
}

extension Deed {
  /// Whether somebody may have died between two steps.
  fileprivate var leavesStepsUndone: Bool {
    switch self {
    case .kill, .freeze: true
    default: false
    }
  }
}
