import Keyspace
import Redis

/// The Lua that runs inside Redis. A script either writes everything or, when a key it must own
/// has the wrong type, nothing; counters that cannot be added to (overflow, another type) are
/// passed over and counted in `record_errors`, so that a broken counter never holds up a segment.
///
/// The keys of a script share one hash tag, so that it runs on Redis Cluster too: an event's, a
/// user's, a token's, a streamer's, an app's, or that of the statistics.
enum RecordScripts {
  static let expire = RedisScript(permissions + prelude + expireBody)
  static let settle = RedisScript(
    permissions + prelude + FanOutEnd.functions + PruneScript.counting + TraceScript.functions
      + settleBody)
  static let series = RedisScript(seriesBody)

  /// What the user may not do is found out before anything is written: half a script's writes would
  /// be counted twice when it is repeated.
  static let permissions = KeyTypeScript.forbidden

  /// `try` does what may fail, and counts that in `failed`.
  static let trying = """
    local failed = 0
    local function try(...)
      local reply = redis.pcall(...)
      if type(reply) == 'table' and reply.err then
        failed = failed + 1
        return nil
      end
      return reply
    end
    """

  /// KEYS 1…7 of every script on an event: event, its settled segments, claims, planned segments
  /// of stragglers, receipts, segments in the dead letters, its sums for the statistics.
  /// ARGV 1…5: now in ms, event id, streamer, template, lifetime of the keys in seconds.
  ///
  /// The sums only grow: counters, and under names that begin with a dot when they were begun
  /// (microseconds since 1970, so that what is begun again after a loss is known to be younger),
  /// how often the event began and ended, and the summary of each end.
  static let prelude = """
    local event, settled, claims, stragglers, receipts, dead, sums = unpack(KEYS, 1, 7)
    local now, id, streamer, template = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
    \(trying)

    \(KeyTypeScript.wrong)
    local is_summing = false
    local function count(field, amount)
      if not is_summing then
        local time = redis.call('TIME')
        redis.call('HSETNX', sums, '.since', string.format('%s%06d', time[1], time[2]))
        is_summing = true
      end
      return try('HINCRBY', sums, field, amount)
    end

    local function create(state)
      local fields = {'state', state, 'streamer', streamer, 'template', template,
        'settled', '0', 'started_ms', now}
      for i = 1, #fields, 2 do redis.call('HSETNX', event, fields[i], fields[i + 1]) end
      count('.begun', 1)
    end

    local function keep()
      if failed > 0 then
        redis.pcall('HINCRBY', event, 'record_errors', failed)
        count('record_errors', failed)
      end
      for _, key in ipairs({event, settled, stragglers, dead, sums}) do
        redis.call('EXPIRE', key, ARGV[5])
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
      local summary = {'event', id, 'streamer', streamer, 'template', template, 'state', state,
        'rejected', string.format('%.0f', rejected)}
      for _, field in ipairs(\(FanOutCounter.lua(FanOutCounter.summarized))) do
        summary[#summary + 1] = field
        summary[#summary + 1] = value[field] or '0'
      end
      local number = count('.ends', 1)
      if number then
        try('HSET', sums, string.format('.end:%.0f', number), cjson.encode(summary))
      end
    end

    -- Once for each record, also when the answer was lost and the script is called again.
    local function count_duplicate(source)
      if redis.call('HGET', event, 'duplicate') == source then return end
      redis.call('HSET', event, 'duplicate', source)
      count('events_duplicate', 1)
    end

    local problem = forbidden({{'TYPE', event}, {'HGET', event, 'f'}, {'HMGET', event, 'f'},
        {'EXISTS', event}, {'HSET', event, 'f', 'v'},
        {'HSETNX', event, 'f', 'v'}, {'HGETALL', event}, {'HGETALL', claims},
        {'HINCRBY', event, 'f', '1'},
        {'EXPIRE', event, '1'}, {'SADD', settled, 'm'}, {'SCARD', settled}, {'TIME'},
        {'HDEL', claims, 'f'}, {'SADD', stragglers, 'm'}, {'HINCRBY', sums, 'f', '1'},
        {'HGET', receipts, 'f'}, {'HSET', receipts, 'f', 'v'},
        {'SADD', dead, 'm'}, {'SREM', dead, 'm'}})
      or wrong(event, 'hash') or wrong(settled, 'set') or wrong(stragglers, 'set')
      or wrong(dead, 'set') or wrong(sums, 'hash')
    if problem then return problem end

    """

  /// ARGV 6, 7: source, when the event expires in ms since 1970. Redis' clock is asked too: a
  /// worker whose own is ahead must not expire an event for everybody.
  private static let expireBody = """
    local source = ARGV[6]
    local time = redis.call('TIME')
    local clock = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
    if clock < tonumber(ARGV[7]) then return {'early', string.format('%.0f', clock)} end
    local known = redis.call('HMGET', event, 'state', 'source', 'plan', 'segments')
    if known[2] and known[2] ~= source then
      count_duplicate(source)
      keep()
      return {'duplicate'}
    end
    if known[1] == 'done' or known[1] == 'expired' then return {'finished'} end
    if known[2] and known[3] and known[4] and known[4] ~= '0' then
      return {'begun'}
    end
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

  /// KEYS 8, unless it is the event's hash once more: what is noted of the segment and not told
  /// yet. As long as there is anything, the script answers {`untold`, notes} and does nothing.
  ///
  /// ARGV 6…: segment, segments of the fan-out, first and last push ms, what stood in the way of
  /// stragglers or nothing, owner, seconds that a receipt lives, tokens that this run took out and
  /// set aside, number of counters, then name and amount of each, number of segments of stragglers,
  /// pushes that waited in this segment itself, id and pushes of each segment of stragglers, what
  /// `keep_notes` takes.
  /// Answers {what it did, what `conclude` says, counters that failed, outcomes of the fan-out when
  /// it is done, sums of the event}; the same once more to an owner whose reply was lost, and
  /// {`already`, sums of the event} to everybody else.
  private static let settleBody = """
    local segment, segments, owner = ARGV[6], ARGV[7], ARGV[11]
    local first, last = tonumber(ARGV[8]), tonumber(ARGV[9])
    local counters = tonumber(ARGV[15])
    local argument = 16 + 2 * counters
    local lists, waiting = tonumber(ARGV[argument]), -tonumber(ARGV[argument + 1])
    argument = argument + 2
    if KEYS[8] ~= event and redis.call('SISMEMBER', settled, segment) == 0 then
      local untold = redis.call('SMEMBERS', KEYS[8])
      if #untold > 0 then
        table.insert(untold, 1, 'untold')
        return untold
      end
    end
    if redis.call('SADD', settled, segment) == 0 then
      local receipt = try('HGET', receipts, segment) or ''
      local mine, done, failed = string.match(receipt, '^(.+) (%d) (%d+)$')
      if mine ~= owner or owner == '' then return {'already', redis.call('HGETALL', sums)} end
      return {'recorded', tonumber(done), tonumber(failed), done ~= '0' and outcomes() or {},
        redis.call('HGETALL', sums)}
    end
    redis.call('HDEL', claims, segment)
    if redis.call('SREM', dead, segment) == 1 then note_lost() end
    if redis.call('EXISTS', event) == 0 then create('running') end
    note_forgotten(redis.call('SCARD', settled) - 1)
    redis.call('HSETNX', event, 'state', 'running')
    redis.call('HSETNX', event, 'segments', segments)
    -- A segment of stragglers that was adopted is planned and counted already.
    local planned = 0
    for i = argument, argument + 2 * lists - 2, 2 do
      if redis.call('SADD', stragglers, ARGV[i]) == 1 then
        planned, waiting = planned + 1, waiting + tonumber(ARGV[i + 1])
      end
    end
    for i = 16, 14 + 2 * counters, 2 do
      try('HINCRBY', event, ARGV[i], ARGV[i + 1])
      count(ARGV[i], ARGV[i + 1])
    end
    try('HSET', event, 'settled', redis.call('SCARD', settled))
    count('segments', 1)
    if planned > 0 then
      try('HINCRBY', event, 'stragglers', planned)
      count('stragglers', planned)
    end
    -- Below 0 when Redis forgot a segment that had left them.
    if waiting ~= 0 and (try('HINCRBY', event, 'waiting', waiting) or 0) < 0 then
      redis.call('HSET', event, 'waiting', '0')
    end
    if ARGV[10] ~= '' then try('HSET', event, 'obstacle', ARGV[10], 'obstacle_ms', now) end
    local times = redis.call('HMGET', event, 'first_push_ms', 'last_push_ms')
    local earliest, latest = tonumber(times[1] or ''), tonumber(times[2] or '')
    if first > 0 and (not earliest or first < earliest) then
      redis.call('HSET', event, 'first_push_ms', ARGV[8])
    end
    if last > 0 and (not latest or last > latest) then
      redis.call('HSET', event, 'last_push_ms', ARGV[9])
    end
    count_verdicts(segment, owner, ARGV[13], ARGV[14], true)
    keep_notes(argument + 2 * lists)
    local done = conclude(segments)
    keep()
    if owner ~= '' then
      try('HSET', receipts, segment, string.format('%s %d %d', owner, done, failed))
      try('EXPIRE', receipts, ARGV[12])
    end
    return {'recorded', done, failed, done > 0 and outcomes() or {}, redis.call('HGETALL', sums)}
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
