import Redis

/// The Lua that runs inside Redis. A script either writes everything or, when a key it must own
/// has the wrong type, nothing; counters that cannot be added to (overflow, another type) are
/// passed over and counted in `record_errors`, so that a broken counter never holds up a segment.
///
/// On Redis Cluster these scripts cross slots (an event, the statistics, users); that needs them
/// cut along the hash tags, which is why prunes are their own function.
enum RecordScripts {
  static let open = RedisScript(prelude + openBody)
  static let expire = RedisScript(prelude + expireBody)
  static let settle = RedisScript(prelude + pruneFunction + settleBody)
  static let prune = RedisScript(prelude + pruneFunction + pruneBody)
  static let series = RedisScript(seriesBody)

  /// KEYS 1…6 of every script but `series`: event, its settled segments, statistics of all time,
  /// of the day, of the minute, stream of summaries. ARGV 1…8: now in ms, event id, streamer,
  /// template, lifetimes in seconds of event, day, minute, entries that the stream of summaries
  /// keeps.
  private static let prelude = """
    local event, settled, total, day, minute, events =
      KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
    local now, id, streamer, template = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
    local failed = 0

    local function wrong(key, wanted)
      local kind = redis.call('TYPE', key)['ok']
      if kind ~= wanted and kind ~= 'none' then
        return redis.error_reply('WRONGTYPE ' .. key .. ' is a ' .. kind .. ', not a ' .. wanted)
      end
    end

    local function try(...)
      local reply = redis.pcall(...)
      if type(reply) == 'table' and reply.err then
        failed = failed + 1
        return nil
      end
      return reply
    end

    local function count(field, amount)
      try('HINCRBY', total, field, amount)
      try('HINCRBY', day, field, amount)
      try('HINCRBY', minute, field, amount)
    end

    local function create(state)
      local fields = {'state', state, 'streamer', streamer, 'template', template,
        'settled', '0', 'started_ms', now}
      for i = 1, #fields, 2 do redis.call('HSETNX', event, fields[i], fields[i + 1]) end
    end

    local function keep()
      redis.call('EXPIRE', event, ARGV[5])
      redis.call('EXPIRE', settled, ARGV[5])
      redis.call('EXPIRE', day, ARGV[6])
      redis.call('EXPIRE', minute, ARGV[7])
      if failed > 0 then
        redis.pcall('HINCRBY', event, 'record_errors', failed)
        redis.pcall('HINCRBY', total, 'record_errors', failed)
      end
    end

    local function finish(state)
      redis.call('HSET', event, 'state', state, 'done_ms', now)
      count('events_' .. state, 1)
      local all, value, rejected = redis.call('HGETALL', event), {}, 0
      for i = 1, #all, 2 do
        value[all[i]] = all[i + 1]
        if string.sub(all[i], 1, 9) == 'rejected:' then
          rejected = rejected + (tonumber(all[i + 1]) or 0)
        end
      end
      local entry = {'XADD', events, 'MAXLEN', '~', ARGV[8], '*', 'event', id,
        'streamer', streamer, 'template', template, 'state', state,
        'rejected', string.format('%.0f', rejected)}
      for _, field in ipairs({'segments', 'recipients', 'pushes', 'accepted', 'expired',
          'cancelled', 'suppressed', 'retried', 'pruned', 'quarantined', 'skipped',
          'started_ms', 'first_push_ms', 'last_push_ms', 'done_ms'}) do
        entry[#entry + 1] = field
        entry[#entry + 1] = value[field] or '0'
      end
      try(unpack(entry))
    end

    local problem = wrong(event, 'hash') or wrong(settled, 'set')
    if problem then return problem end

    """

  /// ARGV 9…11: source, segments, plan. Answers {what it is, the plan it was opened with, its
  /// segments}.
  private static let openBody = """
    local source, segments, plan = ARGV[9], ARGV[10], ARGV[11]
    local known = redis.call('HMGET', event, 'state', 'source', 'plan', 'segments')
    if not known[1] and redis.call('EXISTS', event) == 0 then
      create('running')
      redis.call('HSET', event, 'source', source, 'plan', plan, 'segments', segments)
      count('events', 1)
      if segments == '0' then finish('done') end
      keep()
      return {'new', plan, segments}
    end
    if known[2] and known[2] ~= source then
      count('events_duplicate', 1)
      keep()
      return {'duplicate', '', ''}
    end
    if known[1] == 'done' or known[1] == 'expired' then return {'finished', '', ''} end
    if not known[1] then create('running') end
    redis.call('HSETNX', event, 'source', source)
    redis.call('HSETNX', event, 'plan', plan)
    redis.call('HSETNX', event, 'segments', segments)
    keep()
    known = redis.call('HMGET', event, 'plan', 'segments')
    return {'resumed', known[1], known[2]}
    """

  /// ARGV 9: source.
  private static let expireBody = """
    local source = ARGV[9]
    local known = redis.call('HMGET', event, 'state', 'source')
    if known[2] and known[2] ~= source then
      count('events_duplicate', 1)
      keep()
      return {'duplicate'}
    end
    if known[1] == 'done' or known[1] == 'expired' then return {'finished'} end
    if not known[1] then
      create('expired')
      count('events', 1)
    end
    redis.call('HSETNX', event, 'source', source)
    redis.call('HSETNX', event, 'segments', '0')
    finish('expired')
    keep()
    return {'expired'}
    """

  /// Per verdict four KEYS (bindings, bound, quarantined, owner of the token) and four ARGV (kind,
  /// Apple's timestamp or reason, user, member). A binding is taken out at most once, and only
  /// then it is counted, so running this again for the same verdicts changes nothing. A binding
  /// without a time may go; one whose time cannot be read stays, because nothing proves that
  /// Apple's word is the younger.
  private static let pruneFunction = """
    local pruned, refused, quarantined = 0, 0, 0

    local function prune(key, argument)
      while argument + 3 <= #ARGV do
        local bindings, bound, set_aside, owner =
          KEYS[key], KEYS[key + 1], KEYS[key + 2], KEYS[key + 3]
        local kind, finding, user, member =
          ARGV[argument], ARGV[argument + 1], ARGV[argument + 2], ARGV[argument + 3]
        if kind == 'gone' then
          local since = try('HGET', bound, member)
          local bound_at = since and (tonumber(since) or math.huge) or 0
          if since == nil or bound_at > tonumber(finding) then
            refused = refused + 1
          elseif try('SREM', bindings, member) == 1 then
            pruned = pruned + 1
            try('HDEL', bound, member)
            if try('GET', owner) == user then try('DEL', owner) end
          end
        elseif try('SREM', bindings, member) == 1 then
          quarantined = quarantined + 1
          try('HDEL', bound, member)
          try('HSET', set_aside, member, finding)
        end
        key, argument = key + 4, argument + 4
      end
      for _, counter in ipairs({{'pruned', pruned}, {'prune_refused', refused},
          {'quarantined', quarantined}}) do
        if counter[2] > 0 then
          try('HINCRBY', event, counter[1], counter[2])
          count(counter[1], counter[2])
        end
      end
    end

    """

  /// ARGV 9…: verdicts.
  private static let pruneBody = """
    if redis.call('EXISTS', event) == 0 then create('running') end
    prune(7, 9)
    keep()
    return {'pruned', pruned, refused, quarantined, failed}
    """

  /// ARGV 9…: segment, segments of the fan-out, first and last push ms, number of counters, then
  /// name and amount of each, then verdicts.
  private static let settleBody = """
    local segment, segments, first, last = ARGV[9], ARGV[10], tonumber(ARGV[11]), tonumber(ARGV[12])
    local counters = tonumber(ARGV[13])
    if redis.call('SADD', settled, segment) == 0 then return {'already'} end
    if redis.call('EXISTS', event) == 0 then create('running') end
    redis.call('HSETNX', event, 'state', 'running')
    redis.call('HSETNX', event, 'segments', segments)
    for i = 14, 12 + 2 * counters, 2 do
      try('HINCRBY', event, ARGV[i], ARGV[i + 1])
      count(ARGV[i], ARGV[i + 1])
    end
    try('HSET', event, 'settled', redis.call('SCARD', settled))
    count('segments', 1)
    local times = redis.call('HMGET', event, 'first_push_ms', 'last_push_ms')
    local earliest, latest = tonumber(times[1] or ''), tonumber(times[2] or '')
    if first > 0 and (not earliest or first < earliest) then
      redis.call('HSET', event, 'first_push_ms', ARGV[11])
    end
    if last > 0 and (not latest or last > latest) then
      redis.call('HSET', event, 'last_push_ms', ARGV[12])
    end
    prune(7, 14 + 2 * counters)
    local done = 0
    local planned = tonumber(redis.call('HGET', event, 'segments')) or tonumber(segments)
    if redis.call('SCARD', settled) >= planned then
      done = 1
      local state = redis.call('HGET', event, 'state')
      if state ~= 'done' and state ~= 'expired' then finish('done') end
    end
    keep()
    return {'recorded', done, pruned, refused, quarantined, failed}
    """

  /// KEYS 1, 2: statistics of all time, stream of points. ARGV: id of the point, entries to keep,
  /// then the names of the counters. Answers 1 when this call wrote the point, 0 when another
  /// worker had.
  private static let seriesBody = """
    local entry = {'XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], ARGV[1]}
    for i = 3, #ARGV do
      local value = redis.call('HGET', KEYS[1], ARGV[i]) or '0'
      entry[#entry + 1] = ARGV[i]
      entry[#entry + 1] = value
    end
    local reply = redis.pcall(unpack(entry))
    if type(reply) == 'table' and reply.err then
      if string.find(reply.err, 'equal or smaller', 1, true) then return 0 end
      return reply
    end
    return 1
    """
}
