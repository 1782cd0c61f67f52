import Keyspace
import Model
import Redis

/// The recipients of one segment, page by page, one round trip a page. Confined to one lane.
///
/// When `next()` throws a transient error, call it again after a while: the page that did not come
/// is asked for once more; no follower is lost, and none comes twice but for two cases, which
/// `restarts` counts: Redis was restarted while a set was scanned (its cursor means nothing to
/// another run, so the scan begins anew), or the followers were resharded. Both are harmless, the
/// collapse id makes one push of two.
package final class SegmentReader {
  private let redis: RedisClient
  private let keyspace: Keyspace
  private let options: ExpandOptions
  private let source: FollowerSource
  private let fields: [String]
  private let builder: PageBuilder
  private let pipeline = RedisPipeline(capacity: 64 * 1024)
  private let bindingsCommand: RedisCommandTemplate
  private let profileCommand: RedisCommandTemplate
  private var batch: FollowerBatch?
  private var position = 0
  /// Ids that no page has reported yet.
  private var skipped = 0

  init(
    redis: RedisClient, keyspace: Keyspace, options: ExpandOptions, source: FollowerSource,
    fields: [String], app: String
  ) {
    self.redis = redis
    self.keyspace = keyspace
    self.options = options
    self.source = source
    self.fields = fields
    builder = PageBuilder(app: app, maximumFieldBytes: options.maximumFieldBytes)
    bindingsCommand = RedisCommandTemplate("SMEMBERS", key: keyspace.bindingsParts)
    profileCommand = RedisCommandTemplate(
      "HMGET", key: keyspace.profileParts, after: ["muted"] + fields)
  }

  /// How often reading began anew; worth a note in the log when it grows.
  package var restarts: Int { source.restarts }

  /// The next page, nil after the last. A page may have no recipients: nobody of it has devices.
  package func next() async throws(ExpandError) -> RecipientPage? {
    while true {
      if let batch, position < batch.users.count {
        let users = batch.users[position..<(position + pageLength(batch.users.count - position))]
        guard let replies = try await fetch(users, of: batch) else { continue }
        let page = RecipientPage(fieldNames: fields)
        try builder.build(page, users: users, of: batch.bytes, from: replies)
        position += users.count
        page.skipped += skipped
        skipped = 0
        return page
      }
      guard let next = try await source.nextBatch() else { return rest() }
      batch = next
      position = 0
      skipped += next.skipped
    }
  }

  /// A scan answers about as many as it was asked for, now and then some more: such a page stays
  /// whole.
  private func pageLength(_ left: Int) -> Int {
    left > 2 * options.pageSize || (batch?.users.count ?? 0) > 2 * options.pageSize
      ? min(left, options.pageSize) : left
  }

  /// A last page that reports ids passed over since the one before.
  private func rest() -> RecipientPage? {
    batch = nil
    position = 0
    guard skipped > 0 else { return nil }
    let page = RecipientPage(fieldNames: fields)
    page.skipped = skipped
    skipped = 0
    return page
  }

  /// Bindings and profile of every user; nil when users were taken out of the batch, so that the
  /// page must be cut anew.
  private func fetch(
    _ users: ArraySlice<ByteSlice>, of batch: FollowerBatch
  ) async throws(ExpandError) -> RedisReplies? {
    pipeline.removeAll()
    for user in users {
      pipeline.append(bindingsCommand, batch.bytes[user])
      pipeline.append(profileCommand, batch.bytes[user])
    }
    do {
      return try await redis.execute(pipeline)
    } catch {
      // The connection breaks on a reply over the limit.
      if error.code == .replyTooLarge, try await removeHeavy(users, of: batch) { return nil }
      throw ExpandError(error)
    }
  }

  /// A user with 512 MB in a field would make every reply too large, for ever. Asks for sizes
  /// instead of contents, and takes out who is over the limit. Returns whether there was somebody.
  private func removeHeavy(
    _ users: ArraySlice<ByteSlice>, of batch: FollowerBatch
  ) async throws(ExpandError) -> Bool {
    let pipeline = RedisPipeline()
    for user in users {
      for parts in [keyspace.bindingsParts, keyspace.profileParts] {
        let name = batch.bytes[user]
        let key = parts.prefix + name + parts.suffix
        pipeline.append(["MEMORY", "USAGE", String(decoding: key, as: UTF8.self), "SAMPLES", "0"])
      }
    }
    let replies = try await redis.replies(to: pipeline)
    let heavy = users.indices.filter { index in
      let first = 2 * (index - users.startIndex)
      return (first...first + 1).contains {
        (replies[$0].integer ?? 0) > Int64(options.maximumUserBytes)
      }
    }
    guard !heavy.isEmpty else { return false }
    for index in heavy.reversed() { self.batch?.users.remove(at: index) }
    skipped += heavy.count
    return true
  }
}
