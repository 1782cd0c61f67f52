import Keyspace
import Redis
import Text

/// Moves tokens between users, so that no token is ever with two of them. Confined to the loop of
/// its Redis client.
///
/// A token and each user have a hash tag of their own, so a token moves in steps. Each of them may
/// be repeated by anybody:
///
/// 1. The token's key gets its new owner, and the move a number larger than any before it. The
///    former owner has to leave, and stands in the token's moves.
/// 2. Each of those leaves, and remembers the move's number.
/// 3. The new owner takes the token, unless a later move has been there: it is remembered too.
/// 4. The token's moves forget those who have left, unless there was another move since.
///
/// A process that dies on the way leaves the token where it is, or with nobody; whoever moves it
/// next finishes what is left. Moves are remembered for `movesLifetimeSeconds`: no step takes so
/// long.
package struct TokenMoves {
  private let redis: RedisClient
  private let keyspace: Keyspace

  package init(redis: RedisClient, keyspace: Keyspace) {
    self.redis = redis
    self.keyspace = keyspace
  }

  /// A token that goes to a user, or from its user to nobody.
  package struct Move {
    package let token: String
    /// To whom it goes; when it goes to nobody, from whom.
    package let user: String
    package let number: String
    /// The users who have to leave the token, perhaps the user among them.
    package let leaving: [String]

    /// The arguments of the scripts on a user.
    fileprivate var arguments: ScriptArguments {
      TokenLua.movesLifetime + ["token": token, "number": number]
    }

    /// Whether the user has to remember the move.
    package var isReturning: Bool { leaving.contains { $0.utf8.elementsEqual(user.utf8) } }
  }

  // MARK: to another user

  /// Steps 1 and 2. Before a token leaves anybody, the keys of those who take it are looked at: who
  /// could not take it would leave the token with nobody.
  /// - Parameter sparesOthers: a token that is another's stays so: nil in its place. For a move
  ///   that came too late and is begun again, or that is of no use when another has the token.
  package func claim(
    _ wanted: [(token: String, user: String)], sparesOthers: Bool = false
  ) async throws(RedisError) -> [Move?] {
    var moves =
      sparesOthers ? Array(repeating: nil, count: wanted.count) : try await claimFree(wanted)
    let others = wanted.indices.filter { moves[$0] == nil }
    guard !others.isEmpty else { return moves }
    try await checkTypes(of: wanted.map(\.user))
    let named = try await name(others.map { wanted[$0] }, sparesOthers: sparesOthers)
    for (index, move) in zip(others, named) { moves[index] = move }
    try await dismiss(named.compactMap { $0 })
    return moves
  }

  /// Step 1 for tokens that nobody else has, or had of late: as nearly all of an import. Plain
  /// commands cost a fraction of a script. The number is less than any other: whoever remembers a
  /// move of such a token refuses it, and then it is claimed by the script.
  private func claimFree(
    _ wanted: [(token: String, user: String)]
  ) async throws(RedisError) -> [Move?] {
    let pipeline = RedisPipeline(capacity: wanted.count > 100 ? 1 << 18 : 4096)
    for (token, user) in wanted {
      let owner = keyspace.tokenOwner(token: token)
      pipeline.append(["SET", owner, user, "NX"])
      pipeline.append(["GET", owner])
      pipeline.append(["EXISTS", keyspace.tokenMoves(token: token)])
    }
    let replies = try await redis.execute(pipeline)
    if let error = replies.firstError { throw RedisError(error, quotes: false) }
    return wanted.enumerated().map { index, one in
      guard replies[3 * index + 1].bytes?.elementsEqual(one.user.utf8) == true,
        replies[3 * index + 2].integer == 0
      else { return nil }
      return Move(token: one.token, user: one.user, number: "0", leaving: [])
    }
  }

  private func checkTypes(of users: [String]) async throws(RedisError) {
    var seen: Set<ExactText> = []
    let keys = users.filter { seen.insert(ExactText($0)).inserted }.flatMap { user in
      zip(keyspace.movingKeys(user: user), ["set", "hash", "hash", "zset"])
    }
    let pipeline = RedisPipeline()
    for (key, _) in keys { pipeline.append(["TYPE", key]) }
    let replies = try await redis.execute(pipeline)
    if let error = replies.firstError { throw RedisError(error, quotes: false) }
    for (index, (key, wanted)) in keys.enumerated() {
      let type = replies[index].text ?? "none"
      if type != "none", type != wanted { throw RedisError.wrongType(of: key, type, not: wanted) }
    }
  }

  /// Step 1.
  func name(
    _ wanted: [(token: String, user: String)], sparesOthers: Bool
  ) async throws(RedisError) -> [Move?] {
    try await begin(
      TokenScripts.claim, wanted, ["spares_others": sparesOthers ? "1" : nil]
    ).map(\.move)
  }

  /// Step 2.
  func dismiss(_ moves: [Move]) async throws(RedisError) {
    var calls: [ScriptCall] = []
    for move in moves {
      // A user of another name has no keys.
      for user in move.leaving
      where !user.utf8.elementsEqual(move.user.utf8) && Keyspace.isIdentifier(user) {
        calls.append(ScriptCall(keys: keyspace.movingKeys(user: user), arguments: move.arguments))
      }
    }
    // A user whose key of bindings has another type gets no pushes.
    if !calls.isEmpty {
      _ = try await redis.answers(of: TokenScripts.leave, calls, passesOver: true)
    }
  }

  /// Step 4, after the users have taken their tokens.
  package func settle(_ taken: [Move]) async throws(RedisError) {
    try await settle(taken.filter { !$0.leaving.isEmpty }) { _ in ["owner": ""] }
  }

  // MARK: to nobody

  /// Users have these tokens in no app any more. One who binds one again meanwhile owns it again:
  /// whoever took the token out looks once more, and from then on a bind that began before is
  /// refused, and begins again.
  /// - Parameter keptFor: seconds for which what a user has left can be restored: whoever binds the
  ///   token meanwhile dismisses that user too.
  /// - Returns: of how many a key is something else, so that it cannot be said who owns them.
  @discardableResult
  package func release(
    _ left: [(token: String, user: String)], keptFor seconds: Int? = nil
  ) async throws(RedisError) -> Int {
    guard !left.isEmpty else { return 0 }
    let answers = try await begin(TokenScripts.release, left)
    let released = answers.compactMap(\.move)
    let wrong = answers.count { if case .wrongKey = $0 { true } else { false } }
    guard !released.isEmpty else { return wrong }
    try await dismiss(released)
    let held = try await redis.answers(
      of: TokenScripts.look,
      released.map {
        ScriptCall(keys: keyspace.movingKeys(user: $0.user), arguments: $0.arguments)
      }, passesOver: true)
    try await settle(released) { index in
      let user = released[index].user
      guard held[index].integer != 1 else { return ["owner": user] }
      return seconds.map { ["owner": "", "former": user, "former_seconds": String($0)] }
        ?? ["owner": ""]
    }
    return wrong
  }

  // MARK: how

  private func settle(
    _ moves: [Move], arguments: (Int) -> ScriptArguments
  ) async throws(RedisError) {
    guard !moves.isEmpty else { return }
    _ = try await redis.answers(
      of: TokenScripts.settle,
      moves.indices.map {
        ScriptCall(
          keys: tokenKeys(moves[$0].token),
          arguments: TokenLua.movesLifetime + ["number": moves[$0].number] + arguments($0))
      })
  }

  private enum Beginning {
    case begun(Move)
    /// It is another's and stays so.
    case anothers
    /// A key of the token is something else.
    case wrongKey

    var move: Move? { if case .begun(let move) = self { move } else { nil } }
  }

  /// Each token gets its move by a script.
  private func begin(
    _ script: RedisScript, _ tokens: [(token: String, user: String)],
    _ arguments: ScriptArguments = [:]
  ) async throws(RedisError) -> [Beginning] {
    let answers = try await redis.answers(
      of: script,
      tokens.map {
        ScriptCall(
          keys: tokenKeys($0.token),
          arguments: TokenLua.movesLifetime + ["user": $0.user] + arguments)
      })
    return tokens.enumerated().map { index, one in
      let answer = answers[index]
      guard let number = answer[0].text, number != "another" else { return .anothers }
      guard number != "wrong" else { return .wrongKey }
      return .begun(
        Move(
          token: one.token, user: one.user, number: number,
          leaving: (1..<max(1, answer.count)).compactMap { answer[$0].text }))
    }
  }

  private func tokenKeys(_ token: String) -> [String] {
    [keyspace.tokenOwner(token: token), keyspace.tokenMoves(token: token)]
  }
}
