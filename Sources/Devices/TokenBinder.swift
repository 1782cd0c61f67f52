import Keyspace
import Model
import Redis
import Text
import Tokens

/// Binds devices to users, and takes them away: the users' side of what `TokenMoves` says. Each
/// call may be repeated. Confined to the loop of its Redis client.
struct TokenBinder {
  /// Devices of one user, and when they were bound, in ms since 1970.
  struct Login {
    let user: String
    let bindings: [Binding]
    let at: Int64
    /// It is told later than it was: a device that another user has bound since stays that user's.
    var isBelated = false
  }

  private let redis: RedisClient
  private let keyspace: Keyspace
  private let tokens: TokenMoves
  private let tell: TellMoves?
  private var onMove: ([DeviceMove]) -> Void = { _ in }

  /// How often a call begins again because others moved the same token meanwhile.
  private static let maximumTries = 16
  private static let conflict = DevicesError(
    .conflict, "a token changed hands \(maximumTries) times meanwhile")

  init(redis: RedisClient, keyspace: Keyspace, tell: TellMoves? = nil) {
    self.tell = tell
    self.redis = redis
    self.keyspace = keyspace
    tokens = TokenMoves(redis: redis, keyspace: keyspace)
  }

  /// - Parameter onMove: hears of tokens that leave a user as soon as they have.
  func hearing(_ onMove: @escaping ([DeviceMove]) -> Void) -> TokenBinder {
    var binder = self
    binder.onMove = onMove
    return binder
  }

  /// Binds many devices in large pipelines. A token that is another user's leaves that one; one
  /// that moved on while this was at work stays where it went. No two of these users may name the
  /// same token. Returns how many bindings are new.
  @discardableResult
  func bind(_ logins: [Login]) async throws(DevicesError) -> Int {
    var left = try await withoutOvertaken(logins).filter { !$0.bindings.isEmpty }
    var new = 0
    for round in 0..<Self.maximumTries where !left.isEmpty {
      left = try await attempt(left, sparesOthers: round > 0, &new)
    }
    guard left.isEmpty else { throw Self.conflict }
    return new
  }

  /// Returns what came too late. It is tried again, unless another has the token by now.
  private func attempt(
    _ logins: [Login], sparesOthers: Bool, _ new: inout Int
  ) async throws(DevicesError) -> [Login] {
    let all = try await claim(
      logins.flatMap { login in login.bindings.map { ($0.token, login.user) } },
      sparesOthers: sparesOthers)
    var calls: [ScriptCall] = []
    var taken: [(login: Login, bindings: [Binding])] = []
    var moves: [DeviceMove] = []
    var next = 0
    for login in logins {
      let claimed = all[next..<next + login.bindings.count]
      next += login.bindings.count
      var list: [String] = []
      var bindings: [Binding] = []
      for (binding, claim) in zip(login.bindings, claimed) {
        guard let claim else { continue }
        bindings.append(binding)
        moves += claim.moves(of: binding)
        list += [binding.member, claim.number, claim.isReturning ? "1" : "0"]
      }
      if bindings.isEmpty { continue }
      taken.append((login, bindings))
      calls.append(
        ScriptCall(
          keys: keyspace.movingKeys(user: login.user),
          arguments: DeviceScripts.lifetimes + ["at": String(login.at)], list: list))
    }
    guard !calls.isEmpty else { return [] }
    if !moves.isEmpty { onMove(moves) }
    let answers = try await redis.checked(DeviceScripts.take, calls)
    var late: [Login] = []
    for (index, (login, bindings)) in taken.enumerated() {
      let answer = answers[index]
      guard let count = answer[0].integer else { throw DevicesError.unexpected("a script of ours") }
      new += Int(count)
      let places = (1..<max(1, answer.count)).compactMap { answer[$0].integer.map { Int($0) - 1 } }
      guard !places.isEmpty else { continue }
      guard places.allSatisfy(bindings.indices.contains) else {
        throw DevicesError.unexpected("a script of ours")
      }
      late.append(
        Login(
          user: login.user, bindings: places.map { bindings[$0] }, at: login.at,
          isBelated: login.isBelated))
    }
    try await settle(all.compactMap { $0 }, news: moves)
    return late
  }

  /// Takes a token from the user, of whatever topic and environment are left open. Returns how many
  /// bindings there were.
  func unbind(
    _ user: String, _ token: String, topic: String? = nil, environment: Destination? = nil
  ) async throws(DevicesError) -> Int {
    let answer = try await redis.reply(
      to: DeviceScripts.drop, keys: keyspace.movingKeys(user: user),
      arguments: [
        "token": token, "prefix": environment?.memberPrefix ?? "", "topic": topic ?? "",
      ])
    if answer[1].integer == 0 { try await release(token, user) }
    return Int(answer[0].integer ?? 0)
  }

  /// Puts `new` in the place of `old`. Returns whether the old binding was there.
  func replace(
    _ user: String, _ old: Binding, with new: Binding, at: Int64
  ) async throws(DevicesError) -> Bool {
    for round in 0..<Self.maximumTries {
      let claims = try await claim([(new.token, user)], sparesOthers: round > 0)
      // The new device has gone on to another user meanwhile.
      guard let claimed = claims[0] else {
        return try await unbind(user, old.token, topic: old.topic, environment: old.destination) > 0
      }
      let moves = claimed.moves(of: new)
      if !moves.isEmpty { onMove(moves) }
      let answer = try await redis.reply(
        to: DeviceScripts.replace, keys: keyspace.movingKeys(user: user),
        arguments: DeviceScripts.lifetimes + claimed.arguments + [
          "at": String(at), "member": new.member, "old": old.member,
        ])
      if answer[0].text == "late" { continue }
      try await settle([claimed], news: moves)
      if answer[1].integer == 0 { try await release(old.token, user) }
      return answer[0].integer == 1
    }
    throw Self.conflict
  }

  /// Gives back a device that was quarantined or pruned, unless another user has bound its token.
  func restore(
    _ device: QuarantinedDevice
  ) async throws(DevicesError) -> DeviceRestoration.Fate {
    let token = device.binding.token
    for _ in 0..<Self.maximumTries {
      let claims = try await claim([(token, device.user)], sparesOthers: true)
      guard let claimed = claims[0] else { return .takenByAnother }
      let answer = try await redis.reply(
        to: DeviceScripts.restore, keys: keyspace.movingKeys(user: device.user),
        arguments: DeviceScripts.lifetimes + claimed.arguments + [
          "member": device.binding.member, "value": device.value,
          "bound_at": device.boundAt ?? "",
          "pruned_lifetime_seconds": String(Keyspace.prunedLifetimeSeconds),
        ])
      switch answer.text {
      case "late": continue
      case "changed":
        try await release(token, device.user)
        return .changed
      case "done":
        try await settle([claimed], news: claimed.moves(of: device.binding))
        return .restored
      default: throw DevicesError.unexpected("a script of ours")
      }
    }
    throw Self.conflict
  }

  // MARK: what is told too late

  /// Whether another user has bound the token later than it was bound here. A bind between this
  /// look and the caller's own is not seen.
  func isOvertaken(_ login: Login) async throws(DevicesError) -> Bool {
    try await withoutOvertaken([login])[0].bindings.count < login.bindings.count
  }

  private func withoutOvertaken(_ logins: [Login]) async throws(DevicesError) -> [Login] {
    let belated = logins.filter(\.isBelated).flatMap { login in
      login.bindings.map { (token: $0.token, user: login.user, at: login.at) }
    }
    guard !belated.isEmpty else { return logins }
    let owners = try await ask(belated.map { ["GET", keyspace.tokenOwner(token: $0.token)] })
    var others: [(token: String, user: String, at: Int64)] = []
    for (index, one) in belated.enumerated() {
      guard let owner = owners[index].text, !owner.utf8.elementsEqual(one.user.utf8),
        Keyspace.isIdentifier(owner)
      else { continue }
      others.append((one.token, owner, one.at))
    }
    guard !others.isEmpty else { return logins }
    let times = try await redis.checked(
      DeviceScripts.lastBound,
      others.map {
        ScriptCall(
          keys: [keyspace.bound(user: $0.user)],
          arguments: DeviceScripts.tolerance + [
            "token": $0.token, "maximum_devices": String(UserReading.maximumElements),
            "earliest_ms": String(BindingTime.earliest),
          ])
      })
    var overtaken: Set<ExactText> = []
    for (index, other) in others.enumerated() {
      // Of more devices than anybody has it is not known: what comes late changes nothing.
      let last = times[index].text == "many" ? .max : times[index].decimal
      if let last, last > other.at { overtaken.insert(ExactText(other.token)) }
    }
    return logins.map { login in
      guard login.isBelated else { return login }
      return Login(
        user: login.user,
        bindings: login.bindings.filter { !overtaken.contains(ExactText($0.token)) },
        at: login.at, isBelated: true)
    }
  }

  private func ask(_ commands: [[String]]) async throws(DevicesError) -> RedisReplies {
    let replies = try await redis.replies(to: commands)
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
    return replies
  }

  // MARK: the tokens' side

  private func claim(
    _ wanted: [(token: String, user: String)], sparesOthers: Bool
  ) async throws(DevicesError) -> [TokenMoves.Move?] {
    do {
      return try await tokens.claim(wanted, sparesOthers: sparesOthers)
    } catch {
      throw DevicesError(error)
    }
  }

  /// Until the moves are settled whoever binds such a token finds them, and tells of them.
  private func settle(
    _ moves: [TokenMoves.Move], news: [DeviceMove]
  ) async throws(DevicesError) {
    if let tell, !news.isEmpty { try await tell(news) }
    do {
      try await tokens.settle(moves)
    } catch {
      throw DevicesError(error)
    }
  }

  private func release(_ token: String, _ user: String) async throws(DevicesError) {
    do {
      try await tokens.release([(token, user)])
    } catch {
      throw DevicesError(error)
    }
  }
}

extension TokenMoves.Move {
  /// Number of the move, and whether the user was to leave the token.
  fileprivate var arguments: ScriptArguments {
    ["number": number, "is_returning": isReturning ? "1" : "0"]
  }

  /// Returns the users who lose the token to its new owner.
  fileprivate func moves(of binding: Binding) -> [DeviceMove] {
    leaving.filter { !$0.utf8.elementsEqual(user.utf8) && Keyspace.isIdentifier($0) }
      .map { DeviceMove(from: $0, to: user, binding: binding) }
  }
}

/// A device that has gone from one user to another.
package struct DeviceMove: Sendable, Equatable {
  package let from: String
  package let to: String
  /// As the second user has bound it.
  package let binding: Binding
}

/// Hears of moves before they are forgotten: while it throws, or its process dies, whoever binds
/// the device next tells of them again.
package typealias TellMoves = @Sendable ([DeviceMove]) async throws(DevicesError) -> Void
