-- What every script on an event begins with. Needs `permissions`, `types`, `trying` and
-- `event_keys`.
--
-- args: now: in ms since 1970; id: of the event; streamer; template; lifetime_seconds: of the keys.
--
-- The sums only grow: counters, and under names that begin with a dot when they were begun
-- (microseconds since 1970, so that what is begun again after a loss is known to be younger), how
-- often the event began and ended, and the summary of each end.
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
  local fields = {'state', state, 'streamer', args.streamer, 'template', args.template,
    'settled', '0', 'started_ms', args.now}
  for i = 1, #fields, 2 do redis.call('HSETNX', event, fields[i], fields[i + 1]) end
  count('.begun', 1)
end

local function keep()
  if failed > 0 then
    redis.pcall('HINCRBY', event, 'record_errors', failed)
    count('record_errors', failed)
  end
  for _, key in ipairs({event, settled, stragglers, dead, sums}) do
    redis.call('EXPIRE', key, args.lifetime_seconds)
  end
end

-- What the summary takes from the event's hash as it is: `FanOutCounter.summarized`.
local summarized = {'segments', 'stragglers', 'dead_lettered', 'recipients', 'pushes', 'accepted',
  'expired', 'cancelled', 'suppressed', 'retried', 'pruned', 'quarantined', 'skipped',
  'unread', 'started_ms', 'first_push_ms', 'last_push_ms', 'done_ms', 'forgotten_ms'}

local function finish(state)
  redis.call('HSET', event, 'state', state, 'done_ms', args.now)
  count('events_' .. state, 1)
  local all, value, rejected = redis.call('HGETALL', event), {}, 0
  for i = 1, #all, 2 do
    value[all[i]] = all[i + 1]
    if string.sub(all[i], 1, 9) == 'rejected:' then
      rejected = rejected + (tonumber(all[i + 1]) or 0)
    end
  end
  local summary = {'event', args.id, 'streamer', args.streamer, 'template', args.template,
    'state', state, 'rejected', string.format('%.0f', rejected)}
  for _, field in ipairs(summarized) do
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
  redis.call('EXPIRE', sums, args.lifetime_seconds)
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
