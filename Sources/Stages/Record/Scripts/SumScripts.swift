import Keyspace
import Redis

/// The Lua that brings what an event has counted into the statistics, which have a hash tag of
/// their own.
///
/// An event's sums only grow, and the statistics know how much of them they have: what they add is
/// the difference. So anybody may bring them at any time and as often as he likes, sums that come
/// late or twice change nothing, and what one has not brought the next one brings.
enum SumScripts {
  static let add = RedisScript(RecordScripts.permissions + addBody)
  static let note = RedisScript(noteBody)

  /// KEYS: statistics of all time, of the day, of the minute, stream of summaries, stream of
  /// fan-outs, how much of the event's sums the statistics have. ARGV: event id, lifetimes in
  /// seconds of day, minute and the last key, entries that each of the two streams keeps, then name
  /// and value of each sum. Answers how many counters could not be added to: they are passed over,
  /// so that a broken one holds up no segment.
  private static let addBody = """
    local total, day, minute, events, fanouts, known = unpack(KEYS)
    local problem = forbidden({{'TYPE', known}, {'HGETALL', known}, {'HSET', known, 'f', 'v'},
      {'HDEL', known, 'f'}, {'EXPIRE', known, '1'}, {'HINCRBY', total, 'f', '1'},
      {'HINCRBY', day, 'f', '1'}, {'HINCRBY', minute, 'f', '1'}, {'EXPIRE', day, '1'},
      {'EXPIRE', minute, '1'}, {'XADD', events, '*', 'f', 'v'}, {'XADD', fanouts, '*', 'f', 'v'}})
    if problem then return problem end
    \(RecordScripts.trying)
    local kind = redis.call('TYPE', known)['ok']
    if kind ~= 'hash' and kind ~= 'none' then
      redis.pcall('HINCRBY', total, 'record_errors', 1)
      return 1
    end

    local sums, had = {}, {}
    for i = 6, #ARGV, 2 do sums[ARGV[i]] = ARGV[i + 1] end
    local all = redis.call('HGETALL', known)
    for i = 1, #all, 2 do had[all[i]] = all[i + 1] end
    local since, before = tonumber(sums['.since']) or 0, tonumber(had['.since']) or 0
    -- Redis has lost the event since then, and it has begun again.
    if since < before then return 0 end
    local old = {}
    if since > before then old, had = had, {} end
    local now_known, changes = {'HSET', known, '.since', sums['.since'] or '0'}, {}
    for i = 6, #ARGV, 2 do
      local name, value = ARGV[i], ARGV[i + 1]
      local has = tonumber(had[name]) or 0
      local more = (tonumber(value) or 0) - has
      if more > 0 and name ~= '.since' and string.sub(name, 1, 5) ~= '.end:' then
        now_known[#now_known + 1] = name
        now_known[#now_known + 1] = value
        changes[#changes + 1] = {name, more, has}
      end
    end
    -- The first that is written: it fails where Redis is full, and what is begun is done.
    if #changes > 0 then redis.call(unpack(now_known)) end
    for name in pairs(old) do
      if not sums[name] then redis.call('HDEL', known, name) end
    end
    redis.call('EXPIRE', known, ARGV[4])

    local function append(stream, entry)
      try('XADD', stream, 'MAXLEN', '~', ARGV[5], '*', unpack(entry))
    end
    for _, change in ipairs(changes) do
      local name, more, has = unpack(change)
      if name == '.begun' then
        append(fanouts, {'event', ARGV[1]})
      elseif name == '.ends' then
        for number = has + 1, has + more do
          local is_read, entry = pcall(cjson.decode, sums[string.format('.end:%.0f', number)])
          if is_read and type(entry) == 'table' then append(events, entry) end
        end
      else
        for _, key in ipairs({total, day, minute}) do
          try('HINCRBY', key, name, string.format('%.0f', more))
        end
      end
    end
    redis.call('EXPIRE', day, ARGV[2])
    redis.call('EXPIRE', minute, ARGV[3])
    if failed > 0 then redis.pcall('HINCRBY', total, 'record_errors', failed) end
    return failed
    """

  /// KEYS: event. ARGV: counters of the statistics that could not be added to.
  private static let noteBody = """
    if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
    redis.pcall('HINCRBY', KEYS[1], 'record_errors', ARGV[1])
    return 1
    """
}

extension RecordStage {
  /// Brings into the statistics what they do not have yet of the event, whoever counted it.
  package func handOver(_ event: String, now: Int64) async throws(RecordError) {
    let sums = try await execute(["HGETALL", keyspace.sums(id: event)])
    try await add(sums, of: event, now: now)
  }

  /// Adds to the statistics what they do not have yet of an event's sums, to the day and the minute
  /// of `now`.
  /// - Returns: how many counters could not be added to.
  @discardableResult
  func add(
    _ sums: RedisReply, of event: String, now: Int64
  ) async throws(RecordError) -> Int {
    guard sums.count > 0 else { return 0 }
    let reply: RedisReply
    do {
      reply = try await evaluate(
        SumScripts.add,
        keys: [
          keyspace.statsTotal, keyspace.statsDay(milliseconds: now),
          keyspace.statsMinute(milliseconds: now), keyspace.statsEvents, keyspace.statsFanOuts,
          keyspace.statsSums(event: event),
        ],
        arguments: [
          event, String(Keyspace.dayLifetimeSeconds), String(Keyspace.minuteLifetimeSeconds),
          String(Keyspace.statsSumsLifetimeSeconds), String(Keyspace.statsEventsMaximumEntries),
        ] + (0..<sums.count).map { sums[$0].text ?? "" }, isLasting: true)
    } catch {
      // What Redis never takes holds up no segment.
      guard error.code == .redis(.unsupported) || error.code == .redis(.wrongType) else {
        throw error
      }
      return 1
    }
    guard let failed = reply.integer else {
      throw .unexpected(reply.kind, from: "the script that adds to the statistics")
    }
    if failed > 0 {
      _ = try await evaluate(
        SumScripts.note, keys: [keyspace.event(id: event)], arguments: [String(failed)],
        isLasting: true)
    }
    return Int(failed)
  }
}
