import Text

/// Every Redis key of Fanfare: its name, its type and its lifetime, in one place.
///
/// Keys that belong together carry one hash tag (`{…}`), so that a script on it runs in one slot of
/// a Redis Cluster. Data and dashboards have prefixes of their own, because the patterns of a Redis
/// ACL cannot subtract: a dashboard's user gets `%R~ff:*` and with it no device token.
///
/// Ids are put into keys as they are: check them with `isIdentifier` (a streamer's with
/// `isStreamerIdentifier`) where they enter the system. Prefixes come from the settings, which
/// refuse a prefix that would break a key.
package struct Keyspace: Sendable, Equatable {
  let dataPrefix: String
  package let dashboardsPrefix: String
  /// The list of users that `followers` and `followerShard` name.
  private let userLists: UserLists
  /// The bytes before and after a user id in `bindings(user:)`.
  package let bindingsParts: (prefix: [UInt8], suffix: [UInt8])
  /// The bytes before and after a user id in `profile(user:)`.
  package let profileParts: (prefix: [UInt8], suffix: [UInt8])
  /// The bytes before and after a user id in `reached(user:)`.
  package let reachedParts: (prefix: [UInt8], suffix: [UInt8])
  /// The bytes before and after a user id in `bound(user:)`.
  package let boundParts: (prefix: [UInt8], suffix: [UInt8])

  package init(data: String = "ffd:", dashboards: String = "ff:") {
    self.init(data: data, dashboards: dashboards, userLists: .ofStreamers)
  }

  private init(data: String, dashboards: String, userLists: UserLists) {
    self.userLists = userLists
    dataPrefix = data
    dashboardsPrefix = dashboards
    bindingsParts = (Array("\(data){u:".utf8), Array("}:bindings".utf8))
    profileParts = (Array("\(data){u:".utf8), Array("}:profile".utf8))
    reachedParts = (Array("\(data){u:".utf8), Array("}:reached".utf8))
    boundParts = (Array("\(data){u:".utf8), Array("}:bound".utf8))
  }

  package static func == (left: Keyspace, right: Keyspace) -> Bool {
    left.dataPrefix == right.dataPrefix && left.dashboardsPrefix == right.dashboardsPrefix
      && left.userLists == right.userLists
  }

  private enum UserLists { case ofStreamers, ofTags }

  /// The same keys, but for the lists of users: those of a tag, where a tag's name stands for a
  /// streamer's id. Both have one layout, so that what reads, writes and divides the one does so
  /// with the other.
  package var ofTags: Keyspace {
    Keyspace(data: dataPrefix, dashboards: dashboardsPrefix, userLists: .ofTags)
  }

  package var isOfTags: Bool { userLists == .ofTags }
}

// MARK: - Followers, users, tokens: written by Devices, read by Expand; no lifetime

extension Keyspace {
  /// HASH: `shards` (a power of two), `generation`, `followers`; `next` while the followers are
  /// divided again, `last` the largest generation handed out, `retired` those that nobody reads.
  package func followers(of streamer: String) -> String {
    switch userLists {
    case .ofStreamers: "\(dataPrefix){f:\(streamer)}"
    case .ofTags: "\(dataPrefix){g:\(streamer)}"
    }
  }

  /// SET of user ids; `shard(of:shards:)` says in which shard a user is.
  package func followerShard(streamer: String, generation: Int, shard: Int) -> String {
    switch userLists {
    case .ofStreamers: "\(dataPrefix){f:\(streamer):\(generation):\(shard)}"
    case .ofTags: "\(dataPrefix){g:\(streamer):\(generation):\(shard)}"
    }
  }

  /// SET of binding members, one a device.
  package func bindings(user: String) -> String { "\(dataPrefix){u:\(user)}:bindings" }

  /// HASH: binding member → time of the binding in ms since 1970; read when pruning, and
  /// where only the newest device gets a push.
  package func bound(user: String) -> String { "\(dataPrefix){u:\(user)}:bound" }

  /// HASH: binding member → why Apple refused its token for good, and when; of one that was pruned
  /// also when it was bound. A new login takes it out. Pruned devices stay for
  /// `prunedLifetimeSeconds`, `prunedMaximum` devices at most.
  package func quarantined(user: String) -> String { "\(dataPrefix){u:\(user)}\(Self.setAside)" }

  /// HASH: binding member → what was made of Apple's word on it, and by which segment, for a worker
  /// that did not hear the answer; lives `receiptLifetimeSeconds`.
  package func verdicts(user: String) -> String { "\(dataPrefix){u:\(user)}:verdicts" }

  /// HASH: binding member → on how many days Apple's 410 came where nothing shows whether it is
  /// older than the binding, and since when; lives `undatedLifetimeSeconds` after the last.
  package func undated(user: String) -> String { "\(dataPrefix){u:\(user)}:undated" }

  static let setAside = ":quarantined"

  /// The three keys of a user's devices, in the order in which scripts take them.
  package func deviceKeys(user: String) -> [String] {
    [bindings(user: user), bound(user: user), quarantined(user: user)]
  }

  /// ZSET: token → number of the last move that took it from the user or brought it back, for steps
  /// that come late; lives `movesLifetimeSeconds` after the last.
  package func moves(user: String) -> String { "\(dataPrefix){u:\(user)}:moves" }

  /// The keys of a user's devices and their moves, in the order in which scripts take them.
  package func movingKeys(user: String) -> [String] {
    deviceKeys(user: user) + [moves(user: user)]
  }

  /// The keys of a user that go when the user is forgotten, devices first. The key `moves` is left,
  /// by which a step that comes late knows that it does: it ends by itself.
  package func forgottenKeys(user: String) -> [String] {
    deviceKeys(user: user) + [
      profile(user: user), reached(user: user), verdicts(user: user), undated(user: user),
    ]
  }

  /// STRING, SET, HASH, ZSET and STREAM in turn: what `fanfare check` tries our user's permissions
  /// on. Gone within a second.
  package var probe: String { "\(dataPrefix){check}" }

  /// HASH: `locale`, `name`, `tz`, `badge`, `muted` and whatever else templates name.
  package func profile(user: String) -> String { "\(dataPrefix){u:\(user)}:profile" }

  /// ZSET: id of an event that the user got → when, in ms since 1970 by Redis' clock; lives
  /// `reachedLifetimeSeconds` after the last, and holds as many as may come in that time.
  package func reached(user: String) -> String { "\(dataPrefix){u:\(user)}:reached" }

  /// SET: what Apple said of tokens in a segment and was not told to others yet; lives
  /// `eventLifetimeSeconds`. Of the event's hash tag, but no dashboard's: it names tokens.
  package func untold(event: String, segment: String) -> String {
    "\(dataPrefix){e:\(event)}:untold:\(segment)"
  }

  /// STRING: the user who owns the token, so that a login as another user leaves the first.
  package func tokenOwner(token: String) -> String { "\(dataPrefix){t:\(token)}" }

  /// HASH: `number` of the token's last move to another user, and behind a colon each user who has
  /// to leave it still; lives `movesLifetimeSeconds`, or while anybody has to.
  package func tokenMoves(token: String) -> String { "\(dataPrefix){t:\(token)}:moves" }
}

// MARK: - What became of single pushes: written by Record, read by Traces

extension Keyspace {
  /// STRING: the event as it came, to tell what it was about; lives `eventLifetimeSeconds`. It has
  /// the hash tag of the event's counters, and is no dashboard's business.
  package func document(event id: String) -> String { "\(dataPrefix){e:\(id)}:document" }

  /// HASH: user → what became of the user's pushes, as `OutcomeNotes` say it; lives
  /// `eventLifetimeSeconds`. An event has as many as it was planned with segments: small hashes
  /// take a third of the memory of large ones.
  package func trace(event id: String, part: Int) -> String {
    "\(dataPrefix){e:\(id)}:trace:\(part)"
  }

  /// In which part of an event's trace a user is.
  /// - Parameter segments: how many the event was planned with.
  package static func tracePart(of user: String, segments: Int) -> Int {
    shard(of: user, shards: max(1, segments))
  }
}

// MARK: - What dashboards read: written by Record

extension Keyspace {
  /// HASH: state and counters of one fan-out; lives `eventLifetimeSeconds`.
  package func event(id: String) -> String { "\(dashboardsPrefix){e:\(id)}" }

  /// SET of the ids of settled segments; lives `eventLifetimeSeconds`.
  package func settled(id: String) -> String { "\(dashboardsPrefix){e:\(id)}:settled" }

  /// HASH: id of a segment → who works on it and until when (ms since 1970, Redis' clock); lives
  /// `eventLifetimeSeconds`.
  package func claims(id: String) -> String { "\(dashboardsPrefix){e:\(id)}:claims" }

  /// SET of the ids of segments that hold stragglers, written when the segments that they left were
  /// settled; lives `eventLifetimeSeconds`.
  package func stragglers(id: String) -> String { "\(dashboardsPrefix){e:\(id)}:stragglers" }

  /// HASH: id of a segment → who settled it and what became of it, for an owner that did not hear
  /// the answer; lives `receiptLifetimeSeconds`.
  package func receipts(id: String) -> String { "\(dashboardsPrefix){e:\(id)}:receipts" }

  /// SET of the ids of segments whose records are in the dead letters, and `event` for the event's
  /// own; lives `eventLifetimeSeconds`.
  package func deadLetters(id: String) -> String { "\(dashboardsPrefix){e:\(id)}:dead_letters" }

  /// STRING: when lost segments of the event were planned again last (ms since 1970, Redis' clock),
  /// and by whom; lives `receiptLifetimeSeconds`.
  package func recovery(id: String) -> String { "\(dashboardsPrefix){e:\(id)}:recovery" }

  /// HASH: what the event has counted since Redis knows it, for the statistics; lives
  /// `eventLifetimeSeconds`.
  package func sums(id: String) -> String { "\(dashboardsPrefix){e:\(id)}:sums" }

  /// HASH: the streams of a streamer that ended, and the events that told of them; lives
  /// `eventLifetimeSeconds` after the last event.
  package func streamer(id: String) -> String { "\(dashboardsPrefix){s:\(id)}" }

  /// HASH: until when an app's, an event's or a project's limit of pushes a second is used up;
  /// lives `limitLifetimeSeconds`.
  package func limit(app: String) -> String { "\(dashboardsPrefix){a:\(app)}:limit" }
  package func limit(event: String) -> String { "\(dashboardsPrefix){e:\(event)}:limit" }
  package func limit(project: String) -> String { "\(dashboardsPrefix){p:\(project)}:limit" }

  /// HASH: how many of the last answers for an app in an environment were 410s, for all workers
  /// together; lives for a day after the last.
  package func removals(topic: String, environment: String) -> String {
    "\(dashboardsPrefix){a:\(topic)}:removals:\(environment)"
  }

  /// HASH: the counters of all time; no lifetime.
  package var statsTotal: String { "\(dashboardsPrefix){stats}:total" }

  /// HASH: the counters of one UTC day, `:day:YYYYMMDD`; lives `dayLifetimeSeconds`.
  package func statsDay(milliseconds: Int64) -> String {
    "\(dashboardsPrefix){stats}:day:\(UTCMinute(milliseconds: milliseconds).dayDigits)"
  }

  /// HASH: the counters of one UTC minute, `:minute:YYYYMMDDHHMM`; lives `minuteLifetimeSeconds`.
  package func statsMinute(milliseconds: Int64) -> String {
    let minute = UTCMinute(milliseconds: milliseconds)
    return "\(dashboardsPrefix){stats}:minute:\(minute.dayDigits)\(minute.minuteDigits)"
  }

  /// STREAM: one summary per fan-out, capped at `statsEventsMaximumEntries`.
  package var statsEvents: String { "\(dashboardsPrefix){stats}:events" }

  /// STREAM: the id of each fan-out that began, capped as `statsEvents` is.
  package var statsFanOuts: String { "\(dashboardsPrefix){stats}:fanouts" }

  /// ZSET: events that are to be sent later → when they are due, in ms since 1970 by Redis' clock.
  /// A worker that releases one moves it ahead for a while; no lifetime.
  package var statsScheduled: String { "\(dashboardsPrefix){stats}:scheduled" }

  /// HASH: how much of an event's `sums` the statistics have; lives `statsSumsLifetimeSeconds`.
  package func statsSums(event: String) -> String { "\(dashboardsPrefix){stats}:sums:\(event)" }

  /// STRING: some dead letters were counted; lives `receiptLifetimeSeconds`.
  package func statsReceipt(_ id: String) -> String { "\(dashboardsPrefix){stats}:receipt:\(id)" }

  /// HASH: dead letter → what was done to it and when, of the letters that were written on one UTC
  /// day, `{dlq}:YYYYMMDD`; lives `letterMarksLifetimeSeconds` after the last.
  package func letterMarks(milliseconds: Int64) -> String {
    "\(dashboardsPrefix){dlq}:\(UTCMinute(milliseconds: milliseconds).dayDigits)"
  }

  /// STREAM: one point per `seriesIntervalSeconds`, capped at `statsSeriesMaximumEntries`.
  package var statsSeries: String { "\(dashboardsPrefix){stats}:series" }

  /// HASH: a worker's heartbeat; lives `workerLifetimeSeconds`, so a dead worker vanishes by
  /// itself.
  package func worker(id: String) -> String { "\(dashboardsPrefix)worker:\(id)" }

  /// HASH: id of each worker → when its last heartbeat was, in ms since 1970 by its own clock;
  /// lives `workersLifetimeSeconds` after the last. A worker that has stopped in good order is not
  /// in it, so that one that is and beats no more has died.
  package var workers: String { "\(dashboardsPrefix)workers" }

  /// HASH: id of a tap → its filters, its rate and its end, as `TapRequest` reads them; `secret` →
  /// the key of the hashes of tokens. Lives `tapLifetimeSeconds`.
  package var tapRequests: String { "\(dashboardsPrefix){tap}:requests" }

  /// STREAM: outcomes of pushes, while somebody taps; capped at `tapMaximumEntries`, lives
  /// `tapSamplesLifetimeSeconds` after the last.
  package var tapSamples: String { "\(dashboardsPrefix){tap}:samples" }

  /// STRING: what a request to the API was answered, under a digest of its idempotency key; lives
  /// `idempotencyLifetimeSeconds`.
  package func idempotency(_ digest: String) -> String { "\(dataPrefix){i:\(digest)}" }

  /// HASH: how an import over HTTP fares; lives `importLifetimeSeconds` after it was heard of last.
  package func imported(_ id: String) -> String { "\(dataPrefix){n:\(id)}" }

  /// STRING: how an erasure over HTTP fares that takes long, without the user's id; lives
  /// `runningErasureLifetimeSeconds` while it is told of, then `erasureLifetimeSeconds`.
  package func erasure(_ id: String) -> String { "\(dataPrefix){d:\(id)}" }
}

/// Lifetimes of keys, and their greatest sizes.
extension Keyspace {
  /// A minute: its process tells of it every 10 seconds.
  package static let runningErasureLifetimeSeconds = 60
  /// A day: who began it has looked by then.
  package static let erasureLifetimeSeconds = 86_400
  /// A day: who began it has looked by then.
  package static let importLifetimeSeconds = 86_400
  /// A day: who has no answer by then asks no more.
  package static let idempotencyLifetimeSeconds = 86_400
  /// 7 days: longer than Kafka redelivers, so that a redelivered segment still finds its mark.
  package static let eventLifetimeSeconds = 7 * 86_400
  /// 30 days: so long an event may wait for its `send_at`, however often that is changed.
  package static let longestScheduleSeconds = 30 * 86_400
  /// Of a scheduled event, until it is opened.
  package static let scheduledLifetimeSeconds = longestScheduleSeconds + eventLifetimeSeconds
  /// Events that may wait for their `send_at`, as many as the statistics know by name. With
  /// documents of 1 KB they take 10 MB of Redis; of the largest, 64 KiB, 640 MB.
  package static let maximumScheduled = 10_000
  /// A day longer than an event's sums: without it they would be added a second time.
  package static let statsSumsLifetimeSeconds = eventLifetimeSeconds + 86_400
  /// 10 minutes: a settling is repeated as soon as Redis answers again.
  package static let receiptLifetimeSeconds = 600
  /// 14 days: as long as Kafka keeps the dead letters.
  package static let letterMarksLifetimeSeconds = 14 * 86_400
  /// 10 minutes: no step of a move is on its way for so long.
  package static let movesLifetimeSeconds = 600
  /// 7 days: so long a device that was pruned can be given back.
  package static let prunedLifetimeSeconds = 7 * 86_400
  /// Of a user: more than anybody loses in that time.
  package static let prunedMaximum = 32
  /// 30 days: three answers on three days come in that time, or the device is hardly sent to.
  package static let undatedLifetimeSeconds = 30 * 86_400
  /// A day: longer than any window that counts removals.
  package static let removalsLifetimeSeconds = 86_400
  /// A minute: what was not used for so long is as good as never used.
  package static let limitLifetimeSeconds = 60
  /// An hour: what `rules.events_per_hour` speaks of.
  package static let reachedLifetimeSeconds = 3_600
  /// 15 seconds: a tap keeps its request alive every 5.
  package static let tapLifetimeSeconds = 15
  /// A minute: a tap reads several times a second.
  package static let tapSamplesLifetimeSeconds = 60
  /// 5 seconds of the highest rate.
  package static let tapMaximumEntries = 1_000
  /// 400 days: a year, and the same month of the year before whole.
  package static let dayLifetimeSeconds = 400 * 86_400
  /// 48 hours: today and yesterday.
  package static let minuteLifetimeSeconds = 48 * 3_600
  /// 60 seconds: six heartbeats of 10 s may be missed.
  package static let workerLifetimeSeconds = 60
  /// An hour: so long a dashboard shows a worker that has died.
  package static let workersLifetimeSeconds = 3_600
  package static let seriesIntervalSeconds = 10
  /// The last fan-outs, about 3 MB.
  package static let statsEventsMaximumEntries = 10_000
  /// 7 days of points.
  package static let statsSeriesMaximumEntries = 7 * 86_400 / seriesIntervalSeconds
}

/// Which keys Redis Cluster keeps in one slot: a script may have no others.
extension Keyspace {
  static func hashTag(of key: String) -> Substring {
    var key = key
    let tag = key.withUTF8 { HashTag.range(in: UnsafeRawBufferPointer($0)) }
    let start = key.utf8.index(key.startIndex, offsetBy: tag.lowerBound)
    return key[start..<key.utf8.index(start, offsetBy: tag.count)]
  }

  package static func haveOneHashTag(_ keys: [String]) -> Bool {
    Set(keys.map { hashTag(of: $0) }).count <= 1
  }
}

/// CRC-32 of IEEE 802.3: reflected, polynomial 0xEDB88320, start and final value all ones. What
/// zlib's `crc32`, Python's `zlib.crc32` and PHP's `crc32` compute, so that any backend can place a
/// follower.
package enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in
      value & 1 == 0 ? value >> 1 : 0xEDB8_8320 ^ (value >> 1)
    }
  }

  package static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    table.withUnsafeBufferPointer { table in
      ~bytes.reduce(UInt32.max) { value, byte in
        table[Int(UInt8(truncatingIfNeeded: value) ^ byte)] ^ (value >> 8)
      }
    }
  }
}

/// A minute of UTC as the names of keys spell it.
struct UTCMinute: Equatable {
  private let time: CivilTime

  init(milliseconds: Int64) { time = CivilTime(milliseconds: milliseconds) }

  var dayDigits: String {
    Self.digits(time.year, 4) + Self.digits(time.month, 2) + Self.digits(time.day, 2)
  }

  var minuteDigits: String { Self.digits(time.hour, 2) + Self.digits(time.minute, 2) }

  private static func digits(_ value: Int, _ width: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
  }
}

extension Keyspace {
  /// The shard of a streamer's followers that holds this user: CRC-32 of the id's bytes mod
  /// `shards`. `shards` comes from Redis; below one it counts as one.
  package static func shard(of user: UnsafeRawBufferPointer, shards: Int) -> Int {
    shards > 1 ? Int(CRC32.checksum(user)) % shards : 0
  }

  package static func shard(of user: String, shards: Int) -> Int {
    var user = user
    return user.withUTF8 { shard(of: UnsafeRawBufferPointer($0), shards: shards) }
  }

  /// Members that a follower shard should hold: one segment's work, a second or less of pushing.
  package static let targetShardFollowers = 2_048

  /// Shards of a streamer at most: 134 million followers at the target.
  package static let maximumShards = 65_536

  /// Whether a heading may say so: a power of two up to `maximumShards`.
  package static func isShardCount(_ shards: Int) -> Bool {
    shards >= 1 && shards <= maximumShards && shards & (shards - 1) == 0
  }

  /// The least power of two that keeps shards at or below `targetShardFollowers` on the average.
  package static func recommendedShards(followers: Int) -> Int {
    var shards = 1
    while shards < 1 << 30,
      followers / shards > targetShardFollowers
        || (followers / shards == targetShardFollowers && followers % shards != 0)
    {
      shards *= 2
    }
    return shards
  }
}

extension Keyspace {
  /// Long enough for a UUID, a URN or an e-mail address; short enough that a key is never a burden.
  package static let maximumIdentifierBytes = 128

  /// Whether the text may be in a key as a user, streamer or worker id: 1…128 bytes, no control
  /// characters, no `{` or `}` (they would move the hash tag).
  package static func isIdentifier(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { isIdentifier(UnsafeRawBufferPointer($0)) }
  }

  /// As for a text; the bytes must be valid UTF-8 too. For ids that come from Redis.
  package static func isIdentifier(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count >= 1, bytes.count <= maximumIdentifierBytes else { return false }
    var isASCII = true
    for byte in bytes {
      if byte < 0x20 || byte == 0x7F || byte == 0x7B || byte == 0x7D { return false }
      if byte >= 0x80 { isASCII = false }
    }
    return isASCII || isPrintableUTF8(bytes)
  }

  /// An identifier that names a streamer. One that ends in `:<digits>:<digits>` is refused: its key
  /// would be the key of another streamer's follower shard.
  package static func isStreamerIdentifier(_ text: String) -> Bool {
    guard isIdentifier(text) else { return false }
    let parts = text.utf8.split(separator: 0x3A, omittingEmptySubsequences: false)
    guard parts.count >= 3 else { return true }
    return !parts.suffix(2).allSatisfy { part in
      !part.isEmpty && part.allSatisfy(\.isASCIIDigit)
    }
  }

  /// A tag's name stands in keys where a streamer's id does, and is held to the same. ASCII: two
  /// ways to write one letter would be two tags that look alike.
  package static func isTag(_ text: String) -> Bool {
    isStreamerIdentifier(text) && text.utf8.allSatisfy { $0 < 0x80 }
  }

  /// The message about a name that is no tag.
  package static let tagRule =
    "1 to \(maximumIdentifierBytes) printable ASCII characters without braces, not ending in "
    + ":<digits>:<digits>"

  private static func isPrintableUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let text = String(validating: bytes, as: UTF8.self) else { return false }
    return text.unicodeScalars.allSatisfy { $0.value < 0x80 || $0.value > 0x9F }
  }
}

/// Lua that scripts of several modules begin with.
package enum SharedLua {
  /// `wrong(key, type)`.
  package static let types = PackageResources.types_lua
  /// `forbidden(commands)`.
  package static let permissions = PackageResources.permissions_lua
}
