import Keyspace
import Model
import Redis
import Tokens

/// Takes most devices from a user who has more of them than we write, page by page: one script for
/// all of them would hold up Redis, and its answer the connection. Each page may be repeated.
/// Confined to the loop of its Redis client.
struct LargeUserErasure {
  let redis: RedisClient
  let keyspace: Keyspace
  let tokens: TokenMoves

  /// As many go in one step.
  static let maximumAtOnce = 2 * AudienceRow.maximumBindings
  private static let perPage = 500

  /// First all devices go, and their names stay in `bound`; then their tokens get free. Of a user
  /// with so many devices it is taken for granted that a token is still theirs
  /// (`TokenScripts.holding`), so none gets free before.
  func run(_ user: String, _ counts: inout ErasureCounts) async throws(DevicesError) {
    let keys = keyspace.deviceKeys(user: user)
    let (sizes, ofAnotherType) = try await sizes(keys)
    guard sizes.contains(where: { $0 > Self.maximumAtOnce }) else { return }
    // A key of another type goes as a whole: the scripts fail beside it.
    if !ofAnotherType.isEmpty {
      let deleted = try await redis.replies(to: ofAnotherType.map { ["DEL", keys[$0]] })
      if let error = deleted.firstError { throw DevicesError(reply: error.message) }
    }
    for index in [0, 2] where sizes[index] > 0 {
      try await eachPage(index == 0 ? "SSCAN" : "HSCAN", keys[index]) {
        (members) async throws(DevicesError) in
        let answer = try await redis.reply(
          to: ErasureScripts.drop, keys: keys, arguments: members)
        counts.devices += Int(answer[0].integer ?? 0)
        counts.setAside += Int(answer[1].integer ?? 0)
      }
    }
    try await eachPage("HSCAN", keys[1]) { (members) async throws(DevicesError) in
      try await free(members, user, keys, &counts)
    }
  }

  func isLarge(_ user: String) async throws(DevicesError) -> Bool {
    try await sizes(keyspace.deviceKeys(user: user)).sizes.contains { $0 > Self.maximumAtOnce }
  }

  /// Of bindings, bound and quarantined; 0 of a key of another type.
  private func sizes(
    _ keys: [String]
  ) async throws(DevicesError) -> (sizes: [Int64], ofAnotherType: [Int]) {
    let commands = [["SCARD", keys[0]], ["HLEN", keys[1]], ["HLEN", keys[2]]]
    let replies = try await redis.replies(to: commands)
    return (
      commands.indices.map { replies[$0].integer ?? 0 },
      commands.indices.filter { replies[$0].error?.kind == .wrongType }
    )
  }

  private func eachPage(
    _ command: String, _ key: String,
    _ body: (_ members: [String]) async throws(DevicesError) -> Void
  ) async throws(DevicesError) {
    let stride = command == "SSCAN" ? 1 : 2
    var cursor = "0"
    repeat {
      let replies = try await redis.replies(
        to: [[command, key, cursor, "COUNT", String(Self.perPage)]])
      if let error = replies.firstError { throw DevicesError(reply: error.message) }
      guard let next = replies[0][0].text else { throw DevicesError.unexpected(command) }
      cursor = next
      let found = replies[0][1]
      var members: [String] = []
      for place in Swift.stride(from: 0, to: found.count, by: stride) {
        if let member = found[place].text { members.append(member) }
      }
      for start in Swift.stride(from: 0, to: members.count, by: Self.perPage) {
        try await body(Array(members[start..<min(start + Self.perPage, members.count)]))
      }
    } while cursor != "0"
  }

  private func free(
    _ members: [String], _ user: String, _ keys: [String], _ counts: inout ErasureCounts
  ) async throws(DevicesError) {
    // A token may be of several topics.
    let owned = Set(members.compactMap { Binding(member: $0)?.token })
    do {
      try await tokens.release(owned.map { ($0, user) })
    } catch {
      throw DevicesError(error)
    }
    counts.tokens += owned.count
    _ = try await redis.reply(
      to: ErasureScripts.finish, keys: Array(keys.prefix(2)), arguments: members)
  }
}
