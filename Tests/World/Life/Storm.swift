import Devices
import EventLoop
import Keyspace
import MemoryRedis
import Model
import Record
import Redis
import Text

/// Backends that change the same few devices and the same few followers at the same time, and of
/// whom some die in the middle, before the events of a life begin. No token is ever with two users,
/// and whoever is told that it is done has been done as asked.
final class Storm {
  let world: World
  private let oracle: Oracle
  private let seed: UInt64
  var numbers: SplitMix64
  /// What has begun and is not over.
  private var open = 0
  private var steps = 0

  static let users = ["r0", "r1", "r2", "r3", "r4"]
  private static let rounds = 12
  /// A round with the next one's distance: nothing of it is under way any more.
  private static let pause: Duration = .milliseconds(400)
  private static let limit: Duration = .seconds(60)

  init(_ world: World, _ oracle: Oracle, seed: UInt64) {
    self.world = world
    self.oracle = oracle
    self.seed = seed
    numbers = SplitMix64(seed: seed ^ 0x5354_4F52_4D)
  }

  func run() {
    let endpoint = world.redis.endpoint
    let usual = MemoryNetwork.Path().delay
    defer {
      world.network.change(endpoint) {
        $0.delay = usual
        $0.longest = nil
      }
    }
    let devices = StormDevices(self)
    let followers = StormFollowers(self)
    for round in 0..<Self.rounds {
      // Redis' clock is set forth and back.
      world.redisAhead = [0, 0, 1_500, 300][number(0...3)]
      // Some answers are so slow that others have done much in between.
      let isEven = number(1...2) == 1
      world.network.change(endpoint) {
        $0.delay =
          round % 4 == 0 || isEven
          ? usual : .microseconds(100) ... .milliseconds(round % 4 == 3 ? 15 : 4)
        $0.longest = isEven ? .milliseconds(12) : nil
      }
      devices.begin(withDeaths: round % 3 == 2)
      followers.begin(round, withDeaths: round % 3 == 1)
      settle { devices.checkThatNobodyShares() }
      devices.check(withDeaths: round % 3 == 2)
      followers.check(round)
    }
    world.redisAhead = 0
    devices.end()
    followers.end()
    // One fan-out a storm, and what no seed changes once in four.
    StormSegments(self, Int(seed / 2 % 3)).run()
    if seed / 2 % 4 == 0 {
      StormRules(self).run()
      StormForgotten(self).run()
      StormRegistry(self).run()
    }
  }

  func number(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(numbers.next() % UInt64(range.count))
  }

  func fail(_ text: String) { oracle.fail("in the storm \(text)") }

  /// Runs until all is over that has begun, and for a while longer.
  func settle(_ check: () -> Void = {}) {
    let areOver = world.run(atMost: Self.limit) {
      steps += 1
      if steps % 16 == 0 { check() }
      return open == 0
    }
    if !areOver { fail("\(open) backends come to no end") }
    check()
    world.run(atMost: Self.pause) { false }
  }

  /// An event of whom nobody is told.
  func event(_ id: String, streamer: String, expiresIn: Int64 = 900) -> Event {
    let now = world.wallClock()
    return Event(
      id: id, app: World.app, streamer: streamer, stream: "b1", template: "world",
      occurredAt: now, expiresAt: now + expiresIn * 1_000, fields: [:], document: [])
  }

  /// A device that nobody else has heard of is bound, a minute ago; and what Apple says of it.
  func verdict(_ device: WorldDevice, of user: String, isUnusable: Bool = false) -> TokenVerdict {
    let now = world.wallClock()
    WorldAudience(world).bind(
      member: device.member, token: device.token, to: user, at: now - 60_000)
    return TokenVerdict(
      user: user, member: device.member,
      finding: isUnusable
        ? .unusable(.badDeviceToken) : .gone(since: now - 30_000, reason: .unregistered))
  }

  /// Nothing of it is left for the life behind the storm.
  func delete(where isOfStorm: (String) -> Bool) {
    for key in world.keys() where isOfStorm(key) { _ = world.ask("DEL", key) }
  }

  /// What a worker asks of Redis, on a connection of its own.
  func ask<T>(
    _ options: RecordOptions,
    _ body: @escaping (isolated LoopActor, RecordStage) async throws -> T
  ) throws -> T {
    nonisolated(unsafe) let body = body
    nonisolated(unsafe) var result: Result<T, any Error>?
    world.perform { actor, world in
      do {
        let found = try await world.withRedis {
          try await body(
            actor, RecordStage(redis: $0, keyspace: world.keyspace, options: options))
        }
        result = .success(found)
      } catch {
        result = .failure(error)
      }
    }
    return try (result ?? .failure(NoAnswer())).get()
  }

  private struct NoAnswer: Error {}

  /// - Parameters:
  ///   - dies: its process dies before it has heard all answers.
  ///   - mayFail: where others may be in its way.
  func begin(
    _ what: String, dies: Bool = false, mayFail: Bool = false, _ work: @escaping BackendWork,
    whenDone: @escaping () -> Void = {}
  ) {
    open += 1
    let life: Duration? = dies ? .microseconds(Int64(number(5_000...30_000))) : nil
    nonisolated(unsafe) let (storm, work, whenDone) = (self, work, whenDone)
    world.begin { actor, world in
      do {
        try await world.withRedis { client in
          if let life {
            world.scheduler.schedule(after: life) { onLoop(world.loop) { client.close() } }
          }
          try await work(actor, client, world)
        }
        whenDone()
      } catch {
        if !dies, !mayFail { storm.fail("\(what) failed: \(error)") }
      }
      storm.open -= 1
    }
  }
}

/// A few tokens that users take from each other.
final class StormDevices {
  private enum Deed { case bind, bindOther, unbind, forget, prune, load }

  private let storm: Storm
  private let registrySpace: Keyspace
  private let tokens = (0..<3).map { WorldDevice.token(0xF00_0000 + $0, head: "ab") }
  /// Of each token and user, for each app: the key and the member of which the user has it.
  private var places: [[[(key: ByteString, member: ByteString)]]] = []
  /// What users had before the round, with its time.
  private var before: [[String: String]] = []
  /// Tokens that another system has written, without a time.
  private var plain = 0
  private var newcomers = 0
  /// Who dies in an erasure leaves names of devices behind.
  private var haveDied = false
  private var done: [(deed: Deed, user: String, token: Int)] = []

  init(_ storm: Storm) {
    self.storm = storm
    registrySpace = storm.world.keyspace
    places = tokens.indices.map { token in
      Storm.users.map { user in
        [World.app, World.otherApp].map { app in
          (
            ByteString(registrySpace.bindings(user: user)),
            ByteString(binding(token, app).member)
          )
        }
      }
    }
  }

  private func binding(_ token: Int, _ app: String = World.app) -> Binding {
    Self.binding(tokens[token], app)
  }

  private static func binding(_ token: String, _ app: String) -> Binding {
    guard let binding = Binding(destination: .production, topic: app, token: token) else {
      preconditionFailure("\(token) is no token")
    }
    return binding
  }

  /// Of a device that is new with each call.
  private func newcomer() -> Binding {
    newcomers += 1
    return Self.binding(WorldDevice.token(0xA00_0000 + newcomers, head: "ab"), World.app)
  }

  func begin(withDeaths: Bool) {
    done = []
    writePlainly()
    before = Storm.users.map { storm.world.hash(registrySpace.bound(user: $0)) }
    // Two users take the same token from each other again and again.
    let isTight = storm.number(1...2) == 1
    for _ in 0..<(isTight ? 5 : storm.number(2...4)) {
      let user = Storm.users[storm.number(0...(isTight ? 1 : Storm.users.count - 1))]
      let token = isTight ? 0 : storm.number(0...tokens.count - 1)
      let deed: Deed =
        switch storm.number(1...(isTight ? 6 : 10)) {
        case 1...5: .bind
        case 6: .bindOther
        case 7: .unbind
        case 8: .forget
        case 9 where !done.contains { $0.deed == .load }: .load
        default: .prune
        }
      if deed == .load {
        for token in tokens.indices { done.append((.bind, loaded(token, by: user), token)) }
      }
      done.append((deed, user, token))
      begin(deed, user, token, dies: withDeaths && storm.number(1...2) == 1)
    }
  }

  /// Who gets a token in an import that somebody begins.
  private func loaded(_ token: Int, by user: String) -> String {
    let first = Storm.users.firstIndex(of: user) ?? 0
    return Storm.users[(first + token) % Storm.users.count]
  }

  private func begin(_ deed: Deed, _ user: String, _ token: Int, dies: Bool) {
    let at = storm.world.wallClock()
    let (own, other) = (binding(token), binding(token, World.otherApp))
    // Before those that are known comes one of whom nobody has heard.
    let others = tokens.indices.map { (user: loaded($0, by: user), binding: binding($0)) }
    let rows = ([(user: Storm.users[4], binding: newcomer())] + others).map {
      AudienceRow(user: $0.user, profile: [], bindings: [$0.binding], boundAt: at)
    }
    storm.begin("\(deed) of token \(token) for \(user)", dies: dies) { _, client, world in
      let registry = DeviceRegistry(redis: client, keyspace: world.keyspace)
      switch deed {
      case .bind: try await registry.bind(user: user, own, at: at)
      case .bindOther: try await registry.bind(user: user, other, at: at)
      case .unbind: try await registry.unbind(user: user, own)
      case .forget:
        _ = try await UserErasure(redis: client, keyspace: world.keyspace)
          .run(user, UserErasure.Scope(), writes: true)
      case .load:
        let writer = AudienceWriter(redis: client, keyspace: world.keyspace)
        try await writer.begin(streamer: "q3", expectedFollowers: 4, allowsEmpty: true)
        for row in rows { try await writer.append(row) }
        _ = try await writer.finish()
      case .prune:
        // What Apple has said before this round.
        let verdict = TokenVerdict(
          user: user, member: own.member, finding: .gone(since: at - 200, reason: .unregistered))
        _ = try await RecordStage(redis: client, keyspace: world.keyspace)
          .prune([verdict], source: "storm \(at)", now: at)
      }
    }
  }

  /// Without the time of the binding, as other systems write.
  private func writePlainly() {
    let (world, user) = (storm.world, Storm.users[storm.number(0...Storm.users.count - 1)])
    plain += 1
    let device = WorldDevice(0xE00_0000 + plain)
    _ = world.ask("SADD", registrySpace.bindings(user: user), device.member)
    _ = world.ask("SET", registrySpace.tokenOwner(token: device.token), user)
    _ = world.ask(
      "HSET", registrySpace.bound(user: user), device.member, "\(world.wallClock())")
    if plain % 2 == 0 {
      _ = world.ask("HDEL", registrySpace.bound(user: user), device.member)
    }
  }

  /// A logout from one app leaves the others, where nobody else has touched the token.
  private func checkLogouts() {
    for one in done where one.deed == .unbind {
      let others = done.filter {
        $0.token == one.token || $0.user == one.user || $0.deed == .load
      }
      let user = Storm.users.firstIndex(of: one.user) ?? 0
      let other = binding(one.token, World.otherApp).member
      guard others.count == 1, before[user][other] != nil else { continue }
      if holders(one.token) != [one.user] {
        storm.fail("\(one.user) logged out of one app, and token \(one.token) is gone")
      }
    }
  }

  private func holders(_ token: Int) -> [String] {
    Storm.users.indices.filter { user in
      places[token][user].contains { storm.world.holds($0.key, $0.member) }
    }.map { Storm.users[$0] }
  }

  func checkThatNobodyShares() {
    for token in tokens.indices {
      let held = places[token].count { $0.contains { storm.world.holds($0.key, $0.member) } }
      if held > 1 { storm.fail("token \(token) is with \(holders(token))") }
    }
  }

  func check(withDeaths: Bool) {
    checkThatNobodyShares()
    if withDeaths {
      haveDied = true
      repair()
    } else {
      checkWhoHasThem()
      checkLogouts()
    }
    let world = storm.world
    for token in tokens.indices {
      let held = holders(token)
      let owner = world.text(registrySpace.tokenOwner(token: tokens[token]))
      if owner != held.first { storm.fail("\(owner ?? "nobody") owns what is of \(held)") }
      for user in Storm.users where !held.isEmpty && user != held[0] {
        let aside = world.hash(registrySpace.quarantined(user: user)).keys
        if aside.contains(where: { $0.hasSuffix(tokens[token]) }) {
          storm.fail("token \(token) of \(held[0]) may come back to \(user)")
        }
      }
    }
    for user in Storm.users {
      let bound = Set(world.hash(registrySpace.bound(user: user)).keys)
      let bindings = world.members(registrySpace.bindings(user: user))
      // Others have written without a time.
      if (!haveDied && !bound.isSubset(of: bindings))
        || bindings.subtracting(bound).contains(where: isOurs)
      {
        storm.fail("\(user) has \(bindings), with times of \(bound)")
      }
    }
  }

  private func isOurs(_ member: String) -> Bool { tokens.contains { member.hasSuffix($0) } }

  /// Whoever has bound a token has it, unless another has, too, or it was taken away.
  private func checkWhoHasThem() {
    for token in tokens.indices {
      let binders = done.filter { [.bind, .bindOther].contains($0.deed) && $0.token == token }
      let isTaken = done.contains { one in
        one.deed == .unbind && one.token == token
          || one.deed == .forget && binders.contains { $0.user == one.user }
      }
      guard !binders.isEmpty, !isTaken else { continue }
      let held = holders(token)
      if held.isEmpty || !binders.contains(where: { $0.user == held[0] }) {
        storm.fail("token \(token) was bound to \(binders.map(\.user)), and is with \(held)")
      }
    }
  }

  /// What the dead have left is finished by who binds next, or by an import.
  private func repair() {
    if storm.number(1...2) == 1 {
      begin(.load, Storm.users[0], 0, dies: false)
    } else {
      for token in tokens.indices { begin(.bind, Storm.users[token], token, dies: false) }
    }
    storm.settle { checkThatNobodyShares() }
    for user in Storm.users.suffix(2) { begin(.forget, user, 0, dies: false) }
    storm.settle()
    let moves = tokens.map { storm.world.hash(registrySpace.tokenMoves(token: $0)) }
    for (token, fields) in moves.enumerated() {
      if holders(token) != [Storm.users[token]] {
        storm.fail("token \(token) was bound to r\(token), and is with \(holders(token))")
      }
      for name in fields.keys where name.hasPrefix(":") {
        storm.fail("token \(token) has still to leave \(name)")
      }
    }
  }

  /// Leaves nothing but what ends by itself.
  func end() {
    for user in Storm.users { begin(.forget, user, 0, dies: false) }
    storm.settle()
    let others = (1...max(plain, 1)).map { WorldDevice(0xE00_0000 + $0).token }
    for token in tokens + others {
      if let owner = storm.world.text(registrySpace.tokenOwner(token: token)) {
        storm.fail("\(token.suffix(8)) is owned by \(owner), who is forgotten")
      }
    }
  }
}
