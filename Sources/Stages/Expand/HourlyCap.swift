import Keyspace
import Model
import Redis

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

  /// KEYS 1: events that reached the user. ARGV: event, how many there may be, seconds.
  static let script = RedisScript(
    """
    local known = redis.pcall('ZSCORE', KEYS[1], ARGV[1])
    if type(known) == 'table' then return known end
    if known then return 1 end
    local time = redis.call('TIME')
    local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
    local past = string.format('%.0f', now - tonumber(ARGV[3]) * 1000)
    redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', past)
    if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
    redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
    redis.call('EXPIRE', KEYS[1], ARGV[3])
    return 1
    """)

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
