import Keyspace
import Model
import Redis

/// The Lua that knows of a streamer's streams: which have ended, what went live last, and which
/// fan-outs are to be stopped when one ends.
///
/// The streamer's hash holds `ended:<stream>` → when in ms, `event:<id>` → when it occurred and its
/// stream, `last:<app>:<template>` → when such an event was sent last. It keeps `kept` of the first
/// two, the latest.
enum StreamerScripts {
  static let end = RedisScript(
    RecordScripts.permissions + ClaimScripts.clock + common + endBody)

  /// Months of streams, and a script's work on them well under a millisecond.
  private static let kept = 100

  /// `register` answers why an event is not sent, or nothing; `now` (by Redis' clock, since
  /// workers' differ), `occurred` and `cooldown` in ms, `keep` what the key lives in seconds,
  /// `is_told` whether anybody follows the streamer.
  static let common = """
    local function may_not_keep(streamer)
      return forbidden({{'HGETALL', streamer}, {'HSET', streamer, 'f', 'v'},
        {'HDEL', streamer, 'f'}, {'EXPIRE', streamer, '1'}})
    end

    local function read_streamer(streamer)
      local all, values, old = redis.call('HGETALL', streamer), {}, {}
      for i = 1, #all, 2 do
        values[all[i]] = all[i + 1]
        local kind = string.match(all[i], '^(%a+):')
        if kind == 'event' or kind == 'ended' then
          old[#old + 1] = {all[i], tonumber(string.match(all[i + 1], '^%d+')) or 0}
        end
      end
      if #old > \(2 * kept) then
        table.sort(old, function(a, b) return a[2] < b[2] end)
        for i = 1, #old - \(kept) do redis.call('HDEL', streamer, old[i][1]) end
      end
      return values
    end

    local function register(streamer, id, stream, kind, occurred, now, cooldown, keep, is_told)
      local values = read_streamer(streamer)
      local ended = tonumber(values['ended:' .. stream])
      if ended and tonumber(occurred) <= ended then return 'stream ended' end
      local since = now - (tonumber(values['last:' .. kind]) or -math.huge)
      -- One that is known already was told of, and Redis has lost what was noted of it.
      if since >= 0 and since < tonumber(cooldown) and not values['event:' .. id] then
        return 'cooldown'
      end
      redis.call('HSET', streamer, 'event:' .. id, occurred .. ' ' .. stream)
      if is_told then redis.call('HSET', streamer, 'last:' .. kind, whole(now)) end
      redis.call('EXPIRE', streamer, keep)
    end

    """

  /// KEYS: streamer. ARGV: stream, when it ended in ms since 1970, seconds that the key lives, how
  /// many ms that may be ahead of Redis' clock: what is further ahead must not stop the streams to
  /// come. Answers the ids of the events that went live with it.
  private static let endBody = """
    local streamer, stream = KEYS[1], ARGV[1]
    local ended = math.min(tonumber(ARGV[2]), now + tonumber(ARGV[4]))
    local problem = may_not_keep(streamer)
    if problem then return problem end
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
      ])
    guard reply.kind == .array else {
      throw .unexpected(reply.kind, from: "the script that ends a stream")
    }
    var cancelled: [String] = []
    for index in 0..<reply.count {
      guard let event = reply[index].text else { continue }
      let result = try await setBrake(.cancelled, of: event, reason: "stream ended", now: now)
      if result == .done { cancelled.append(event) }
    }
    return cancelled
  }
}
