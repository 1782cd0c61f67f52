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
  /// A row, and the line of the import that it came from.
  private typealias PageRow = (row: AudienceRow, line: Int?)
  /// Rows that are left to write, in order.
  private var page: [PageRow] = []
  /// Rows that were not written: their lines, and why.
  private var refused: [RefusedLine] = []
  /// The owners of the tokens in this page. A second user's binding waits for the next page, so
  /// that the last user named is the owner.
  private var pageOwners: [ExactText: String] = [:]
  private var rewrite: AudienceRewrite?

  /// Devices of the rows that are written.
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
  /// seen with its page: see `takeRefused`.
  /// - Parameter line: names a row that is not written. A row with a line, one of whose keys holds
  ///   another type, is refused too; a row without one ends the writing.
  package func append(_ row: AudienceRow, line: Int? = nil) async throws(DevicesError) {
    if let problem = row.problem { throw DevicesError(.invalid, problem) }
    for binding in row.bindings {
      if let owner = pageOwners[ExactText(binding.token)], !owner.isExactly(row.user) {
        try await flush()
      }
    }
    for binding in row.bindings { pageOwners[ExactText(binding.token)] = row.user }
    page.append((row, line))
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
    pageOwners.removeAll()
    if let rewrite {
      self.rewrite = nil
      try await rewrite.abandon()
    }
  }

  /// Writes what is left of the page.
  func flush() async throws(DevicesError) {
    guard !page.isEmpty else { return }
    var rows = page
    page.removeAll(keepingCapacity: true)
    pageOwners.removeAll(keepingCapacity: true)
    do throws(DevicesError) {
      rows = try await withoutOverfull(rows)
      try await write(rows)
    } catch {
      guard error.isOfContent else { throw error }
      // Nearly no page comes here.
      rows = try await writeEach(rows)
    }
    devices += rows.reduce(0) { $0 + $1.row.bindings.count }
  }

  /// May be repeated.
  private func write(_ rows: [PageRow]) async throws(DevicesError) {
    try await write(profilesOf: rows)
    try await binder.bind(
      rows.map { row, _ in
        .init(
          user: row.user, bindings: row.bindings, at: row.boundAt, isBelated: row.isBelated)
      })
  }

  /// The rows that were not written since the last call.
  func takeRefused() -> [RefusedLine] {
    defer { refused = [] }
    return refused
  }

  /// Writes the rows one by one, and refuses those that meet a key of another type. A row without a
  /// line ends the writing.
  /// - Returns: the rows that were written.
  private func writeEach(_ rows: [PageRow]) async throws(DevicesError) -> [PageRow] {
    var written: [PageRow] = []
    var lines: Set<Int> = []
    for row in rows where row.line.map(lines.contains) != true {
      do throws(DevicesError) {
        let fitting = try await withoutOverfull([row])
        try await write(fitting)
        written += fitting
      } catch {
        guard error.isOfContent, let line = row.line else { throw error }
        lines.insert(line)
        refused.append(RefusedLine(line, "\(row.row.user): \(error.message)"))
      }
    }
    return written
  }

  /// Looks closer only at users who may have too much.
  private func withoutOverfull(_ rows: [PageRow]) async throws(DevicesError) -> [PageRow] {
    let sizes = try await redis.replies(
      to: rows.flatMap { row, _ in
        [
          ["SCARD", keyspace.bindings(user: row.user)],
          ["HLEN", keyspace.profile(user: row.user)],
        ]
      })
    for index in 0..<sizes.count {
      // A key of another type matters to a row that is written to it.
      if let error = sizes[index].error, error.kind != .wrongType {
        throw DevicesError(reply: error.message)
      }
    }
    var left: [PageRow] = []
    var overfull: [RefusedLine] = []
    // Of each user, what the rows of the page bring up to this one.
    var brought: [ExactText: (members: Set<ExactText>, fields: Set<ExactText>)] = [:]
    for (index, (row, line)) in rows.enumerated() {
      let user = ExactText(row.user)
      var (members, fieldNames) = brought[user] ?? ([], [])
      members.formUnion(row.bindings.map { ExactText($0.member) })
      fieldNames.formUnion(row.profile.map { ExactText($0.name) })
      let devices = Int(sizes[2 * index].integer ?? 0)
      let fields = Int(sizes[2 * index + 1].integer ?? 0)
      var reason: String?
      if devices + members.count > AudienceRow.maximumBindings, !row.bindings.isEmpty {
        let bindings = keyspace.bindings(user: row.user)
        var new = try await missing(members.map { ["SISMEMBER", bindings, $0.text] })
        let texts = members.map(\.text)
        if new > 0, devices + new > AudienceRow.maximumBindings,
          let places = try await DevicePlaces.read(
            of: row.user, for: texts, among: devices, redis, keyspace)
        {
          new = places.free(for: texts)
        }
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
      if let reason {
        overfull.append(RefusedLine(line ?? 0, reason))
      } else {
        brought[user] = (members, fieldNames)
        left.append((row, line))
      }
    }
    refused += overfull
    return left
  }

  private func missing(_ commands: [[String]]) async throws(DevicesError) -> Int {
    let replies = try await redis.replies(to: commands)
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
    return commands.indices.count { replies[$0].integer == 0 }
  }

  private func write(profilesOf rows: [PageRow]) async throws(DevicesError) {
    let pipeline = RedisPipeline(capacity: 1 << 18)
    for (row, _) in rows where !row.profile.isEmpty {
      pipeline.append(
        ["HSET", keyspace.profile(user: row.user)] + row.profile.flatMap { [$0.name, $0.value] })
    }
    guard pipeline.count > 0 else { return }
    let replies = try await redis.replies(to: pipeline)
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
  }
}

package struct AudienceWriterOptions: Sendable {
  /// Users whose commands go out together, about six commands each.
  package var rowsPerPage: Int
  /// Followers gathered before they are written shard by shard, so that one SADD carries many.
  package var followersPerFlush: Int
  /// Members asked of one SSCAN.
  package var scanCount: Int

  package init(rowsPerPage: Int = 1_000, followersPerFlush: Int = 16_384, scanCount: Int = 1_000) {
    self.rowsPerPage = max(1, rowsPerPage)
    self.followersPerFlush = max(1, followersPerFlush)
    self.scanCount = max(1, scanCount)
  }
}

/// The result of an import, a seed or a resharding.
package struct AudienceSummary: Sendable, Equatable {
  package var devices = 0
  package var followers = 0
  package var shards = 0
  package var generation = 0
  /// Members of the source that are no user ids; they were left out.
  package var skipped = 0
}

/// A line of an import that was not written, or not all of it.
package struct RefusedLine: Sendable, Equatable {
  package let line: Int
  package let reason: String

  init(_ line: Int, _ reason: String) {
    self.line = line
    self.reason = reason
  }
}
