import Model
import Redis

/// The Lua that opens a fan-out and, when that is one segment, claims it in the same breath.
enum OpenScript {
  static let open = RedisScript(
    RecordScripts.permissions + RecordScripts.prelude + FanOutEnd.functions
      + ClaimScripts.clock + ClaimScripts.rules + body)

  /// ARGV 6…9: source, segments, plan, the source that this record replays or nothing. 10…13: the
  /// only segment, who claims it, for how many ms and whether the event is over; nothing for an
  /// event of several segments. 14: why it is not sent, or nothing. 15, 16: of which pushes it is
  /// kept what became of them, or nothing, and the event as it came, for KEYS 8. 17: when the event
  /// expires, in ms since 1970.
  /// Answers {what it is, the plan it was opened with, its segments, how many of them were
  /// published, outcomes of a fan-out that is done already or else what the claim came to, empty
  /// when it was not asked for, why it is not sent}.
  private static let body = """
    local source, segments, plan, replayed = ARGV[6], ARGV[7], ARGV[8], ARGV[9]
    local segment = ARGV[10]
    local problem = segment ~= '' and may_not_claim(event, settled, claims, stragglers)
    if problem then return problem end
    -- Under another plan the segment is another one. What is opened stays so if this fails.
    local function claimed(known_plan, known_segments)
      if segment == '' or known_plan ~= plan or known_segments ~= segments then return {} end
      return claim(event, settled, claims, stragglers, segment, ARGV[11], ARGV[12], ARGV[5],
        ARGV[13], '')
    end
    local known = redis.call('HMGET', event, 'state', 'source', 'plan', 'segments')
    -- A brake may be there before it: its stream ended while it was being opened.
    if not known[1] and not known[2] then
      local why = ARGV[14]
      if why ~= '' then plan, segments = 'none', '0' end
      create('running')
      redis.call('HSET', event, 'source', source, 'plan', plan, 'segments', segments,
        'expires_ms', ARGV[17])
      count('events', 1)
      if ARGV[15] ~= '' then
        redis.call('HSET', event, 'trace', ARGV[15])
        try('SET', KEYS[8], ARGV[16], 'EX', ARGV[5])
      end
      if why ~= '' then
        redis.call('HSET', event, 'brake', 'cancelled', 'brake_ms', whole(now), 'brake_why', why)
        count('events_stopped', 1)
      end
      if segments == '0' then finish('done') end
      keep()
      if segments == '0' then return {'empty', plan, segments, '0', outcomes(), why} end
      return {'new', plan, segments, '0', claimed(plan, segments)}
    end
    if replayed ~= '' and known[2] == replayed then
      redis.call('HSET', event, 'source', source)
      known[2] = source
    end
    if known[2] and known[2] ~= source then
      count_duplicate(source)
      keep()
      return {'duplicate', '', '', '0'}
    end
    if known[1] == 'done' or known[1] == 'expired' then return {'finished', '', '', '0'} end
    if redis.call('SREM', dead, 'event') == 1 then
      note_lost()
      reopen()
    elseif known[1] == 'incomplete' then
      -- What Redis has forgotten is done again by who reads the record again.
      if not redis.call('HGET', event, 'forgotten_ms') then return {'finished', '', '', '0'} end
      reopen()
    end
    if not known[1] then create('running') end
    redis.call('HSETNX', event, 'source', source)
    redis.call('HSETNX', event, 'plan', plan)
    redis.call('HSETNX', event, 'segments', segments)
    redis.call('HSETNX', event, 'expires_ms', ARGV[17])
    keep()
    known = redis.call('HMGET', event, 'plan', 'segments', 'published')
    return {'resumed', known[1], known[2], known[3] or '0', claimed(known[1], known[2])}
    """
}

extension RecordStage {
  /// Opens the fan-out of an event, or says why not. `source` is the record's
  /// `topic/partition/offset`: the same source again is a redelivery, another one a duplicate.
  /// `now` is in ms since 1970. `replayed`: the source of the record that this one repeats, when it
  /// comes back from the dead letters; it then goes on where that one ended.
  ///
  /// - Parameters:
  ///   - refusal: what `register` said: why a new event is not sent.
  ///   - claim: on the audience's only segment, as `claim` asks for it; the same owner may ask
  ///     again.
  ///   - lifetime: how long the claim holds without being renewed.
  ///
  /// Of what goes on from here the statistics are told when it settles, or by `handOver`.
  ///
  /// - Returns: with it what the claim came to; nil when it was not asked for, or the event was
  ///   opened before with another plan, in which its segment is another one.
  package func open(
    event: Event, audience: Audience, source: String, replayed: String? = nil,
    refusal: String? = nil, claim: Claim?, lifetime: Duration, now: Int64
  ) async throws(RecordError) -> (result: OpenResult, claim: ClaimResult?) {
    let reply: RedisReply
    do {
      reply = try await run(
        OpenScript.open, event, keys: [keyspace.document(event: event.id)], now: now,
        arguments: [
          source, String(audience.segmentCount), Plan.text(audience), replayed ?? "",
          claim?.segment.id ?? "", claim?.owner ?? "", Self.milliseconds(lifetime),
          event.isExpired(at: now) ? "over" : "", refusal ?? "",
          options.trace?.rawValue ?? "",
          options.trace == nil ? "" : String(decoding: event.document, as: UTF8.self),
          String(event.expiresAt),
        ])
    } catch {
      // It goes to the dead letters.
      if !error.isTransient { try? await takeBack(event, isOver: false) }
      throw error
    }
    let opened = try opened(reply, event)
    // Should that fail, who begins to be followed at once is told a cooldown later.
    if case .empty = opened.result { try? await takeBack(event, isOver: true) }
    switch (opened.result, opened.claim) {
    case (.new, _), (.resumed, nil), (.resumed, .yours?), (.resumed, .claimed?),
      (.resumed, .paused?):
      break
    default: try await handOver(event.id, now: now)
    }
    return opened
  }

  private func opened(
    _ reply: RedisReply, _ event: Event
  ) throws(RecordError) -> (result: OpenResult, claim: ClaimResult?) {
    switch reply[0].text {
    case "new": return (.new, try Self.claimed(reply[4]))
    case "empty":
      let figures = Self.outcomes(reply[4])
      guard let reason = reply[5].text, !reason.isEmpty else { return (.empty(figures), nil) }
      return (.stopped(reason, figures), nil)
    case "duplicate": return (.duplicate, nil)
    case "finished": return (.finished, nil)
    case "resumed":
      guard let plan = Plan.audience(reply[1].text ?? "", segments: reply[2].text ?? "") else {
        throw .badContent(
          "\(keyspace.event(id: event.id)) has no usable plan (fields plan and segments): "
            + "DEL it to fan the event out again")
      }
      let published = max(Int(reply[3].text ?? "") ?? 0, 0)
      return (.resumed(plan: plan, published: published), try Self.claimed(reply[4]))
    default: throw .unexpected(reply.kind, from: "the script that opens an event")
    }
  }

  private static func claimed(_ reply: RedisReply) throws(RecordError) -> ClaimResult? {
    reply.count == 0 ? nil : try result(reply)
  }
}

/// What `RecordStage.open` found out about an event.
package enum OpenResult: Sendable, Equatable {
  /// Not seen before.
  case new
  /// Not seen before and done already: nobody follows the streamer.
  case empty([FanOutFigure])
  /// Not seen before, and not to be sent: its stream has ended, or the streamer's followers were
  /// told a short while ago.
  case stopped(String, [FanOutFigure])
  /// Redelivered before it was done. `plan` is the audience it was planned with: go on with that
  /// one, so that its settled marks keep their meaning when the followers were resharded in
  /// between. The first `published` of its segments are in Kafka.
  case resumed(plan: Audience, published: Int)
  /// Another record brought the same id before: drop it.
  case duplicate
  /// Redelivered after it was done or had expired: commit its offset.
  case finished
}
