import Keyspace
import Model
import Redis

/// The Lua that knows of a streamer's streams: which have ended, what went live last, and which
/// fan-outs are to be stopped when one ends.
///
/// The streamer's hash holds `ended:<stream>` → when in ms, `event:<id>` → when it occurred and its
/// stream, `refused:<id>` → when it occurred and why it is not sent, `last:<app>:<template>` → when
/// such an event was sent last, and its id; with `:<expression>` behind it for those that select
/// their users. It keeps `kept` of them all, the latest.
enum StreamerScripts {
  static let end = RedisScript(
    RecordScripts.permissions + ClaimScripts.clock + common + endBody)
  static let register = RedisScript(
    RecordScripts.permissions + ClaimScripts.clock + common + registerBody)
  static let takeBack = RedisScript(takeBackBody)

  /// Months of streams, and a script's work on them well under a millisecond.
  private static let kept = 100

  private static let common = """
    \(KeyTypeScript.wrong)
    local function may_not_keep(streamer)
      return forbidden({{'HGETALL', streamer}, {'HSET', streamer, 'f', 'v'},
        {'HDEL', streamer, 'f'}, {'EXPIRE', streamer, '1'}})
    end

    local function read_streamer(streamer)
      local all, values, old = redis.call('HGETALL', streamer), {}, {}
      for i = 1, #all, 2 do
        values[all[i]] = all[i + 1]
        local kind = string.match(all[i], '^(%a+):')
        if kind == 'event' or kind == 'ended' or kind == 'refused' or kind == 'last' then
          old[#old + 1] = {all[i], tonumber(string.match(all[i + 1], '^%d+')) or 0}
        end
      end
      if #old > \(2 * kept) then
        table.sort(old, function(a, b) return a[2] < b[2] end)
        for i = 1, #old - \(kept) do redis.call('HDEL', streamer, old[i][1]) end
      end
      return values
    end

    local streamer = KEYS[1]
    local problem = may_not_keep(streamer) or wrong(streamer, 'hash')
    if problem then return problem end

    """

  /// KEYS: streamer. ARGV: event, its stream, its kind or nothing, when it occurred and for how
  /// long a next event of them is not sent in ms (by Redis' clock, since workers' differ), seconds
  /// that the key lives. Answers why the event is not sent, or nothing; the same to whoever asks
  /// again.
  private static let registerBody = """
    local id, stream, kind, occurred = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
    local values = read_streamer(streamer)
    redis.call('EXPIRE', streamer, ARGV[6])
    local ended = tonumber(values['ended:' .. stream])
    if ended and tonumber(occurred) <= ended then return 'stream ended' end
    -- It was told of, and read again; or Redis has lost what was noted of it.
    if values['event:' .. id] then return '' end
    local refused = string.match(values['refused:' .. id] or '', '^%d+ (.*)$')
    if refused then return refused end
    local last = string.match(values['last:' .. kind] or '', '^%d+')
    local since = now - (tonumber(last) or -math.huge)
    if since >= 0 and since < tonumber(ARGV[5]) then
      redis.call('HSET', streamer, 'refused:' .. id, occurred .. ' cooldown')
      redis.call('EXPIRE', streamer, ARGV[6])
      return 'cooldown'
    end
    redis.call('HSET', streamer, 'event:' .. id, occurred .. ' ' .. stream)
    if kind ~= '' then
      redis.call('HSET', streamer, 'last:' .. kind, whole(now) .. ' ' .. id)
    end
    redis.call('EXPIRE', streamer, ARGV[6])
    return ''
    """

  /// KEYS: streamer. ARGV: event, its kind, whether the event may come again.
  private static let takeBackBody = """
    local last = redis.call('HGET', KEYS[1], 'last:' .. ARGV[2]) or ''
    if string.match(last, '^%d+ (.*)$') == ARGV[1] then
      redis.call('HDEL', KEYS[1], 'last:' .. ARGV[2])
    end
    if ARGV[3] ~= '' then redis.call('HDEL', KEYS[1], 'event:' .. ARGV[1]) end
    return 1
    """

  /// KEYS: streamer. ARGV: stream, when it ended in ms since 1970, seconds that the key lives, how
  /// many ms that may be ahead of Redis' clock: what is further ahead must not stop the streams to
  /// come. Answers the ids of the events that went live with it.
  private static let endBody = """
    local stream = ARGV[1]
    local ended = math.min(tonumber(ARGV[2]), now + tonumber(ARGV[4]))
    local values, events = read_streamer(streamer), {}
    local known = tonumber(values['ended:' .. stream]) or 0
    if ended > known then redis.call('HSET', streamer, 'ended:' .. stream, whole(ended)) end
    redis.call('EXPIRE', streamer, ARGV[3])
    for name, value in pairs(values) do
      local id = string.match(name, '^event:(.*)$')
      local occurred, of = string.match(value, '^(%d+) (.*)$')
      if id and of == stream and tonumber(occurred) <= ended then events[#events + 1] = id end
    end
    table.sort(events)
    return events
    """
}

extension RecordStage {
  /// Notes with its streamer that an event is going to be sent. Safe to repeat; comes before
  /// `open`, which is told the answer.
  ///
  /// - Returns: why it is not to be sent: its stream has ended, or the streamer's followers were
  ///   told a short while ago; nil when it is.
  package func register(_ event: Event) async throws(RecordError) -> String? {
    let reply = try await evaluate(
      StreamerScripts.register, keys: [keyspace.streamer(id: event.streamer)],
      arguments: [
        event.id, event.stream, Self.kind(of: event), String(event.occurredAt),
        Self.milliseconds(options.cooldown), String(Keyspace.eventLifetimeSeconds),
      ], isLasting: true)
    guard let refusal = reply.text else {
      throw .unexpected(reply.kind, from: "the script that registers an event")
    }
    return refusal.isEmpty ? nil : refusal
  }

  /// The event has told nobody, and keeps no later one back.
  /// - Parameter isOver: it does not come again, unless its record does.
  package func takeBack(_ event: Event, isOver: Bool) async throws(RecordError) {
    _ = try await evaluate(
      StreamerScripts.takeBack, keys: [keyspace.streamer(id: event.streamer)],
      arguments: [event.id, Self.kind(of: event), isOver ? "" : "again"])
  }

  /// Events of one kind are not sent in quick succession. Who names users means just those, and
  /// just now: such events hold back none, and are held back by none.
  private static func kind(of event: Event) -> String {
    switch event.audience {
    case .followers: "\(event.app):\(event.template)"
    case .matching(let expression): "\(event.app):\(event.template):\(expression.text)"
    case .users: ""
    }
  }

  /// Cancels what is not sent yet of the fan-outs that told of a stream, and any that is still to
  /// come. Safe to repeat.
  ///
  /// - Returns: the ids of those that this call has cancelled.
  package func endStream(
    _ end: StreamEnd, now: Int64
  ) async throws(RecordError) -> [String] {
    let reply = try await evaluate(
      StreamerScripts.end, keys: [keyspace.streamer(id: end.streamer)],
      arguments: [
        end.stream, String(end.occurredAt), String(Keyspace.eventLifetimeSeconds),
        Self.milliseconds(options.clockSkew),
      ], isLasting: true)
    guard reply.kind == .array else {
      throw .unexpected(reply.kind, from: "the script that ends a stream")
    }
    var cancelled: [String] = []
    for index in 0..<reply.count {
      guard let event = reply[index].text else { continue }
      // It may be registered and not opened yet.
      let result = try await setBrake(
        .cancelled, of: event, reason: "stream ended", isAhead: true, now: now)
      if result == .done { cancelled.append(event) }
    }
    return cancelled
  }
}
