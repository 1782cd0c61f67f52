import Keyspace
import Model
import Redis
import Rules

/// The recipients of one segment, page by page, one round trip a page. Confined to one lane.
///
/// When `next()` throws a transient error, call it again after a while: the page that did not come
/// is asked for once more; no follower is lost, and none comes twice, also when Redis was restarted
/// while a set was scanned (its cursor means nothing to another run, so the scan begins again) or
/// the followers were resharded; `restarts` counts those. Only a set of more than
/// `maximumRememberedUsers` can repeat some then: harmless, the collapse id makes one push of two.
package final class SegmentReader {
  private let redis: RedisClient
  private let options: ExpandOptions
  private let source: SegmentUsers
  private let fields: [String]
  private let builder: PageBuilder
  private let now: () -> Int64
  /// Nothing more of it is sent.
  private let isOver: () -> Bool
  private let streamer: [UInt8]
  private let pipeline = RedisPipeline(capacity: 64 * 1024)
  private let bindingsCommand: RedisCommandTemplate
  private let profileCommand: RedisCommandTemplate
  /// Nil where the age of devices is of no interest.
  private let boundCommand: RedisCommandTemplate?
  /// Nil where nothing is counted.
  private let cap: HourlyCap?
  /// Whether a page may lack what was written a moment ago. Not one of pushes that wait for another
  /// try: a device that was found once must be found again.
  private let mayLag: Bool
  /// Nil for a small event, which has no further segment.
  private let weights: UserWeights?
  private var pace: PagePace
  private var batch: FollowerBatch?
  private var position = 0
  /// Ids that no page has reported yet.
  private var skipped = 0
  private var skippedUsers: [SkippedUser] = []
  /// Users whose replies did not fit, whom no page has reported yet.
  private var tooLarge: [String] = []
  /// Of those that are named; all are counted.
  private static let maximumNamed = 16

  init(
    redis: RedisClient, keyspace: Keyspace, options: ExpandOptions, weights: UserWeights,
    source: SegmentUsers, fields: [String], topic: String, now: @escaping () -> Int64,
    isOver: @escaping () -> Bool
  ) {
    self.redis = redis
    self.options = options
    self.source = source
    self.fields = fields
    self.now = now
    self.isOver = isOver
    streamer = Array(source.segment.event.streamer.utf8)
    let rules = options.rules.fields
    let isSmall = source.segment.isOfSmall
    self.weights = isSmall ? nil : weights
    pace = PagePace(
      maximumUsers: isSmall ? options.pageSize : options.pageSize(masters: redis.masterCount),
      maximumBytes: options.maximumPageBytes,
      bytesAUser: weights.bytes(of: source.segment.event.id))
    // Pushes that wait for another try were counted before. Which device was the newest was found
    // out then, too: what came since has not got this event, so that the user would get nothing.
    let isFirstTry = source.segment.stragglers == nil
    mayLag = isFirstTry
    let picksNewest = options.rules.picksNewestDevice && isFirstTry
    builder = PageBuilder(
      topic: topic, ruleFields: rules, picksNewest: picksNewest,
      maximumFieldBytes: options.maximumFieldBytes, keyspace: keyspace)
    bindingsCommand = RedisCommandTemplate("SMEMBERS", key: keyspace.bindingsParts)
    profileCommand = RedisCommandTemplate(
      "HMGET", key: keyspace.profileParts, after: rules.map(\.rawValue) + fields)
    boundCommand = picksNewest ? RedisCommandTemplate("HGETALL", key: keyspace.boundParts) : nil
    let event = source.segment.event.id
    cap = (isFirstTry ? options.rules.eventsPerHour : nil).map {
      HourlyCap($0, event: event, redis: redis, keyspace: keyspace)
    }
  }

  /// How often reading began again; worth a note in the log when it grows.
  var restarts: Int { source.restarts }

  /// Who was passed over since the last call, the first few of them: for the log.
  package func takeSkippedUsers() -> [SkippedUser] {
    defer { skippedUsers = [] }
    return skippedUsers
  }

  /// The next page, nil after the last. A page may have no recipients: nobody of it has devices.
  package func next() async throws(ExpandError) -> RecipientPage? {
    while true {
      if let batch, position < batch.users.count {
        let length = pace.length(batch.users.count - position, of: batch.users.count)
        let users = batch.users[position..<(position + length)]
        guard let replies = try await fetch(users, of: batch) else { continue }
        let page = RecipientPage(fieldNames: fields)
        let judge = RecipientJudge(options.rules, streamer: streamer, now: now())
        var passedOver = try builder.build(
          page, users: users, of: batch.bytes, from: replies, judge: judge)
        passedOver += try await capped(page)
        for user in passedOver {
          name(user)
          page.withheld.append(.init(user: page.bytes.append(utf8: user.user), fate: .skipped))
        }
        position += users.count
        report(on: page)
        return page
      }
      guard let next = try await nextBatch() else { return rest() }
      batch = next
      position = 0
      skipped += next.skipped
    }
  }

  private func nextBatch() async throws(ExpandError) -> FollowerBatch? {
    do {
      return try await source.nextBatch()
    } catch {
      // Nobody who is read later can be told.
      guard error.isTransient, isExpired else { throw error }
      throw giveUp(error.description)
    }
  }

  /// Who has had enough for this hour is taken out. What expired or was cancelled meanwhile is sent
  /// to nobody, and counts for nobody.
  private func capped(_ page: RecipientPage) async throws(ExpandError) -> [SkippedUser] {
    guard let cap, !isExpired, !isOver() else { return [] }
    return try await cap.apply(to: page, with: pipeline)
  }

  /// A last page that reports ids passed over since the one before.
  private func rest() -> RecipientPage? {
    batch = nil
    position = 0
    guard skipped > 0 else { return nil }
    let page = RecipientPage(fieldNames: fields)
    report(on: page)
    return page
  }

  /// Who was passed over since the page before.
  private func report(on page: RecipientPage) {
    page.skipped += skipped
    skipped = 0
    for user in tooLarge {
      page.withheld.append(.init(user: page.bytes.append(utf8: user), fate: .skipped))
    }
    tooLarge = []
  }

  /// Bindings and profile of every user; nil when that was too much, so that the page must be cut
  /// again.
  private func fetch(
    _ users: ArraySlice<ByteSlice>, of batch: FollowerBatch
  ) async throws(ExpandError) -> RedisReplies? {
    pipeline.removeAll()
    for user in users {
      pipeline.append(bindingsCommand, batch.bytes[user])
      pipeline.append(profileCommand, batch.bytes[user])
      if let boundCommand { pipeline.append(boundCommand, batch.bytes[user]) }
    }
    do {
      let replies = try await redis.execute(
        pipeline, maximumReplyBytes: options.maximumPageBytes, mayLag: mayLag,
        isBulk: !source.segment.isOfSmall)
      pace.fitted(users.count, bytes: replies.byteCount)
      weights?.learn(pace.bytesAUser, from: users.count, of: source.segment.event.id)
      return replies
    } catch {
      try askForLess(error, users, of: batch)
      return nil
    }
  }

  /// Throws what asking for less does not mend, or what must be waited out before.
  private func askForLess(
    _ error: RedisError, _ users: ArraySlice<ByteSlice>, of batch: FollowerBatch
  ) throws(ExpandError) {
    guard error.code == .replyTooLarge || error.code == .timeout else { throw ExpandError(error) }
    guard !isExpired else { throw giveUp(error.description) }
    pace.tooMuch(users.count)
    // Redis may be slow for reasons of its own: nobody is passed over for that.
    if error.code == .timeout { throw ExpandError(error) }
    if users.count == 1, let user = users.first { passOver(batch.bytes.string(user)) }
  }

  /// A user with 512 MB in a field would make every reply too large, for ever.
  private func passOver(_ user: String) {
    position += 1
    skipped += 1
    if tooLarge.count < Self.maximumNamed { tooLarge.append(user) }
    name(
      SkippedUser(
        user: user,
        reason: "bindings and profile take more than \(options.maximumPageBytes) bytes"))
  }

  private func name(_ user: SkippedUser) {
    if skippedUsers.count < Self.maximumNamed { skippedUsers.append(user) }
  }

  private var isExpired: Bool { source.segment.event.isExpired(at: now()) }

  private func giveUp(_ cause: String) -> ExpandError {
    source.finish()
    return ExpandError(
      .expired,
      "the event expired before its followers could be read: Redis is too slow, or "
        + "holds too much of them", cause: cause)
  }
}
