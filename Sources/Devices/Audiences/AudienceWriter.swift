import Keyspace
import Model
import Redis
import Text

/// Writes many users and a streamer's followers in large pipelines: for an import or a seed. As
/// with `DeviceRegistry`, a token that belongs to another user leaves that one. Confined to the
/// loop of its Redis client.
///
/// Followers are written as a new generation of shards beside the current one, which serves until
/// `finish` makes the new one current in one step. A writer that dies leaves the current
/// generation as it was; the next rewrite takes over what it had begun.
package final class AudienceWriter {
  private let redis: RedisClient
  private let keyspace: Keyspace
  private let options: AudienceWriterOptions
  private let binder: TokenBinder
  /// What is left to write, in order.
  private var page: [AudienceRow] = []
  /// Of each row of the page, where it came from.
  private var lines: [Int] = []
  /// Rows that were not written, because their users would have more than we read: where they came
  /// from, and why.
  private var overfull: [(line: Int, reason: String)] = []
  /// Who has bound what in this page. A second user's binding waits for the next page, so that
  /// the last one named is the owner.
  private var pageOwners: [ExactText: String] = [:]
  private var rewrite: AudienceRewrite?

  package private(set) var devices = 0

  package init(
    redis: RedisClient, keyspace: Keyspace,
    options: AudienceWriterOptions = AudienceWriterOptions(), tell: TellMoves? = nil,
    onMove: @escaping ([DeviceMove]) -> Void = { _ in }
  ) {
    binder = TokenBinder(redis: redis, keyspace: keyspace, tell: tell).hearing(onMove)
    self.redis = redis
    self.keyspace = keyspace
    self.options = options
  }

  /// From here on every appended row is a follower of `streamer`. `expectedFollowers` fixes the
  /// number of shards: the least power of two with at most 2,048 followers each, at most 65,536
  /// shards. An audience of somebody becomes one of nobody only when `allowsEmpty` says so, and
  /// is replaced only when `replaces` does.
  package func begin(
    streamer: String, expectedFollowers: Int, replaces: Bool = true, allowsEmpty: Bool = false
  ) async throws(DevicesError) {
    try await flush()
    for _ in 0..<AudienceRewrite.maximumTries {
      let heading = try await redis.audienceHeading(of: streamer, keyspace)
      rewrite = try await AudienceRewrite.begin(
        redis: redis, keyspace: keyspace, streamer: streamer, heading: heading,
        followers: expectedFollowers,
        sparingAllFrom: replaces ? nil : "\(expectedFollowers) others", options: options,
        allowsEmpty: allowsEmpty)
      if rewrite != nil { return }
    }
    throw AudienceRewrite.conflict(streamer, keyspace)
  }

  /// Appends a user; written when a page is full and by `finish`. Devices and profile fields are
  /// added to what the user has. A row that is refused (`DevicesErrorCode.invalid`) leaves no
  /// trace. One whose user would have too many devices or fields is not written either, which is
  /// seen with its page: see `takeOverfull`.
  /// - Parameter line: what such a row is told by.
  package func append(_ row: AudienceRow, line: Int = 0) async throws(DevicesError) {
    if let problem = row.problem { throw DevicesError(.invalid, problem) }
    for binding in row.bindings {
      if let owner = pageOwners[ExactText(binding.token)], !owner.isExactly(row.user) {
        try await flush()
      }
    }
    for binding in row.bindings { pageOwners[ExactText(binding.token)] = row.user }
    page.append(row)
    lines.append(line)
    devices += row.bindings.count
    if let rewrite { try await rewrite.append(row.user) }
    if page.count >= options.rowsPerPage { try await flush() }
  }

  /// Writes what is left and, after `begin`, makes the new generation current.
  @discardableResult
  package func finish() async throws(DevicesError) -> AudienceSummary {
    try await flush()
    var summary = AudienceSummary(devices: devices)
    if let rewrite {
      self.rewrite = nil
      (summary.followers, summary.shards, summary.generation) = try await rewrite.finish()
    }
    return summary
  }

  /// Gives up what `begin` began: the current generation stays. Users written so far stay too.
  package func abandon() async throws(DevicesError) {
    page.removeAll()
    lines.removeAll()
    pageOwners.removeAll()
    if let rewrite {
      self.rewrite = nil
      try await rewrite.abandon()
    }
  }

  private func flush() async throws(DevicesError) {
    guard !page.isEmpty else { return }
    let (all, numbers) = (page, lines)
    page.removeAll(keepingCapacity: true)
    lines.removeAll(keepingCapacity: true)
    pageOwners.removeAll(keepingCapacity: true)
    let rows = try await withoutOverfull(all, numbers)
    try await write(profilesOf: rows)
    try await binder.bind(
      rows.map {
        .init(
          user: $0.user, bindings: $0.bindings, at: $0.boundAt, isBelated: $0.isBelated)
      })
  }

  /// The rows that were not written since the last call.
  func takeOverfull() -> [(line: Int, reason: String)] {
    defer { overfull = [] }
    return overfull
  }

  /// Looks closer only at users who may have too much.
  private func withoutOverfull(
    _ rows: [AudienceRow], _ lines: [Int]
  ) async throws(DevicesError) -> [AudienceRow] {
    let sizes = try await redis.replies(
      to: rows.flatMap {
        [
          ["SCARD", keyspace.bindings(user: $0.user)], ["HLEN", keyspace.profile(user: $0.user)],
        ]
      })
    if let error = sizes.firstError { throw DevicesError(reply: error.message) }
    var refused: Set<Int> = []
    // Of each user, what the rows of the page bring up to this one.
    var brought: [ExactText: (members: Set<ExactText>, fields: Set<ExactText>)] = [:]
    for (index, row) in rows.enumerated() {
      let user = ExactText(row.user)
      var (members, fieldNames) = brought[user] ?? ([], [])
      members.formUnion(row.bindings.map { ExactText($0.member) })
      fieldNames.formUnion(row.profile.map { ExactText($0.name) })
      let devices = Int(sizes[2 * index].integer ?? 0)
      let fields = Int(sizes[2 * index + 1].integer ?? 0)
      var reason: String?
      if devices + members.count > AudienceRow.maximumBindings, !row.bindings.isEmpty {
        let bindings = keyspace.bindings(user: row.user)
        let new = try await missing(members.map { ["SISMEMBER", bindings, $0.text] })
        if new > 0, devices + new > AudienceRow.maximumBindings {
          reason = AudienceRow.tooManyDevices(of: row.user, devices + new)
        }
      }
      if fields + fieldNames.count > AudienceRow.maximumFields, !row.profile.isEmpty {
        let profile = keyspace.profile(user: row.user)
        let new = try await missing(fieldNames.map { ["HEXISTS", profile, $0.text] })
        if new > 0, fields + new > AudienceRow.maximumFields {
          reason = AudienceRow.tooManyFields(of: row.user, fields + new)
        }
      }
      guard let reason else {
        brought[user] = (members, fieldNames)
        continue
      }
      refused.insert(index)
      self.devices -= row.bindings.count
      overfull.append((lines[index], reason))
    }
    return rows.indices.filter { !refused.contains($0) }.map { rows[$0] }
  }

  private func missing(_ commands: [[String]]) async throws(DevicesError) -> Int {
    let replies = try await redis.replies(to: commands)
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
    return commands.indices.count { replies[$0].integer == 0 }
  }

  private func write(profilesOf rows: [AudienceRow]) async throws(DevicesError) {
    let pipeline = RedisPipeline(capacity: 1 << 18)
    for row in rows where !row.profile.isEmpty {
      pipeline.append(
        ["HSET", keyspace.profile(user: row.user)] + row.profile.flatMap { [$0.name, $0.value] })
    }
    guard pipeline.count > 0 else { return }
    let replies = try await redis.replies(to: pipeline)
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
  }
}
