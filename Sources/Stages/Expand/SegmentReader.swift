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
  /// Whose clocks show the hour of the event; nil where that is of no interest.
  private let wave: LocalWave?
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
    // And whose clocks show the hour.
    wave = isFirstTry ? LocalWave(source.segment, options.rules.localZones) : nil
    let rules = options.rules.fields(isLocal: wave != nil)
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

  /// The users who were passed over since the last call, the first few of them: for the log.
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
          page, users: users, of: batch.bytes, from: replies, judge: judge, wave: wave)
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
      if countsUnknown { skipped += next.skipped }
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

  /// Takes out users who have had enough for this hour. Users of an event that expired or was
  /// cancelled meanwhile are sent nothing, and counted nowhere.
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

  /// Reports users who were passed over since the page before.
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
    guard countsUnknown else { return }
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

  /// Of several waves of an event, one counts whom none can read.
  private var countsUnknown: Bool { wave?.hasUnknown ?? true }

  private var isExpired: Bool { source.segment.event.isExpired(at: now()) }

  private func giveUp(_ cause: String) -> ExpandError {
    source.finish()
    return ExpandError(
      .expired,
      "the event expired before its followers could be read: Redis is too slow, or "
        + "holds too much of them", cause: cause)
  }
}

/// How many users a page asks for: as many as configured, unless their replies are too large or too
/// slow. Then half as many, and later as many as fit by what the last ones took. A pure machine.
struct PagePace: Equatable {
  private let maximumUsers: Int
  private let maximumBytes: Int
  private(set) var users: Int
  /// The bytes of a user of the last page; 0 before there was one.
  private(set) var bytesAUser: Int

  /// - Parameter bytesAUser: what a user of a page took that somebody else has read; 0 where nobody
  ///   has.
  init(maximumUsers: Int, maximumBytes: Int, bytesAUser: Int = 0) {
    self.maximumUsers = maximumUsers
    self.maximumBytes = maximumBytes
    self.bytesAUser = bytesAUser
    users = maximumUsers
    if bytesAUser > 0 { users = min(users, fitting) }
  }

  /// Users who take half of what a page may: the next ones may have more.
  private var fitting: Int { max(1, maximumBytes / 2 / bytesAUser) }

  var isSlowed: Bool { users < maximumUsers }

  /// How many of the users of a batch that are `left` the next page asks for. A batch of up to two
  /// pages stays whole: a scan answers about as many as it was asked for, now and then some more.
  /// A larger one is divided evenly, into pages of about as many as configured: a short last one
  /// costs as many round trips as a long one.
  func length(_ left: Int, of batch: Int) -> Int {
    guard !isSlowed else { return min(left, users) }
    guard batch > 2 * maximumUsers else { return left }
    let pages = max(1, left / maximumUsers)
    return (left + pages - 1) / pages
  }

  /// A page of `asked` users was too much.
  mutating func tooMuch(_ asked: Int) { users = max(1, min(users, asked) / 2) }

  /// A page of `asked` users took so many bytes. Aims at those who fit, and grows to the double at
  /// most.
  mutating func fitted(_ asked: Int, bytes: Int) {
    bytesAUser = max(1, bytes / max(asked, 1))
    users = min(fitting, users * 2, maximumUsers)
  }
}

/// Counts the events that reach each user within an hour, and takes out of a page who has had as
/// many as may be. Confined to one lane.
///
/// An event that a user was once let have is let through whenever it is asked for again, as long as
/// Redis knows of it: what is read a second time is counted once. A user who cannot be asked for
/// fails the page, which is then read again: nobody gets more because Redis is away.
struct HourlyCap {
  private let redis: RedisClient
  private let keyspace: Keyspace
  private let arguments: [String]

  init(_ events: Int, event: String, redis: RedisClient, keyspace: Keyspace) {
    self.redis = redis
    self.keyspace = keyspace
    arguments = [event, String(events), String(Keyspace.reachedLifetimeSeconds)]
  }

  /// Runs once for each recipient: its arguments have no names.
  static let script = RedisScript(positional: PackageResources.hourly_cap_lua)

  /// Returns those who are passed over because their key holds something else. When it throws,
  /// the page is as it was.
  func apply(
    to page: RecipientPage, with pipeline: RedisPipeline
  ) async throws(ExpandError) -> [SkippedUser] {
    guard !page.recipients.isEmpty else { return [] }
    let replies: RedisReplies
    do {
      replies = try await redis.evaluate(
        Self.script, key: keyspace.reachedParts, arguments: arguments, pipeline: pipeline
      ) { call in
        for recipient in page.recipients { pipeline.append(call, page.bytes[recipient.user]) }
      }
    } catch {
      throw ExpandError(error)
    }
    var isLet: [Bool] = []
    var passedOver: [SkippedUser] = []
    var withheld: [RecipientPage.Withheld] = []
    var capped = 0
    for (index, recipient) in page.recipients.enumerated() {
      let answer = try self.answer(replies[index], page.bytes.string(recipient.user))
      isLet.append(answer == .let)
      switch answer {
      case .let: break
      case .capped:
        capped += Int(recipient.bindingCount)
        withheld.append(.init(user: recipient.user, fate: .outcome(.suppressed(.cap))))
      case .passedOver(let user): passedOver.append(user)
      }
    }
    if isLet.contains(false) { page.keepBindings { recipient, _ in isLet[recipient] } }
    page.suppressed[.cap] += capped
    page.withheld += withheld
    page.skipped += passedOver.count
    return passedOver
  }

  private enum Answer: Equatable {
    case `let`, capped
    case passedOver(SkippedUser)
  }

  private func answer(
    _ reply: RedisReply, _ name: @autoclosure () -> String
  ) throws(ExpandError) -> Answer {
    switch reply.integer {
    case 1: return .let
    case 0: return .capped
    default: break
    }
    let user = name()
    let key = keyspace.reached(user: user)
    guard let error = reply.error else {
      throw ExpandError.unexpected(reply, to: "a script on", key: key)
    }
    guard error.kind == .wrongType else {
      throw ExpandError(reply: error, to: "run a script on", key: key, wanted: "sorted set")
    }
    return .passedOver(SkippedUser(user: user, reason: "\(key) is not a sorted set of events"))
  }
}
