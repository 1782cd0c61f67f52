-- Settles a segment. Needs `event` and what that needs, with its keys and arguments, and
-- `fan_out_end`, `verdict_counts` and `notes`.
--
-- KEYS 8, unless it is the event's hash once more: what is noted of the segment and not told yet.
-- As long as there is anything, the script answers {`untold`, notes} and does nothing. KEYS from 9
-- on: those of `notes`.
-- args: segment; segments: of the fan-out; first_push_ms, last_push_ms: or 0; obstacle: what stood
-- in the way of stragglers, or empty; owner: of the claim; receipt_seconds: how long a receipt
-- lives; pruned, quarantined: tokens that this run took out and set aside; counters: how many there
-- are; straggler_lists: how many segments the stragglers are in; waited: pushes that waited in this
-- segment itself; and those of `notes`.
-- list: name and amount of each counter, id and pushes of each segment of stragglers, what `notes`
-- takes.
-- Answers {`recorded`, what `conclude` says, counters that failed, outcomes of the fan-out when it
-- is done, sums of the event}; the same once more to an owner whose reply was lost, and {`already`,
-- sums of the event} to everybody else.
local untold_key = KEYS[8]
local segment, owner = args.segment, args.owner
local first, last = tonumber(args.first_push_ms), tonumber(args.last_push_ms)
local waiting = -tonumber(args.waited)
-- Where in `list` the stragglers begin, and the notes.
local first_straggler = 1 + 2 * tonumber(args.counters)
local first_note = first_straggler + 2 * tonumber(args.straggler_lists)
if untold_key ~= event and redis.call('SISMEMBER', settled, segment) == 0 then
  local untold = redis.call('SMEMBERS', untold_key)
  if #untold > 0 then
    table.insert(untold, 1, 'untold')
    return untold
  end
end
if redis.call('SADD', settled, segment) == 0 then
  local receipt = try('HGET', receipts, segment) or ''
  local mine, done, failures = string.match(receipt, '^(.+) (%d) (%d+)$')
  if mine ~= owner or owner == '' then return {'already', redis.call('HGETALL', sums)} end
  return {'recorded', tonumber(done), tonumber(failures), done ~= '0' and outcomes() or {},
    redis.call('HGETALL', sums)}
end
redis.call('HDEL', claims, segment)
if redis.call('SREM', dead, segment) == 1 then note_lost() end
if redis.call('EXISTS', event) == 0 then create('running') end
note_forgotten(redis.call('SCARD', settled) - 1)
redis.call('HSETNX', event, 'state', 'running')
redis.call('HSETNX', event, 'segments', args.segments)
-- A segment of stragglers that was adopted is planned and counted already.
local planned = 0
for i = first_straggler, first_note - 2, 2 do
  if redis.call('SADD', stragglers, list[i]) == 1 then
    planned, waiting = planned + 1, waiting + tonumber(list[i + 1])
  end
end
for i = 1, first_straggler - 2, 2 do
  try('HINCRBY', event, list[i], list[i + 1])
  count(list[i], list[i + 1])
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
if args.obstacle ~= '' then
  try('HSET', event, 'obstacle', args.obstacle, 'obstacle_ms', args.now)
end
local times = redis.call('HMGET', event, 'first_push_ms', 'last_push_ms')
local earliest, latest = tonumber(times[1] or ''), tonumber(times[2] or '')
if first > 0 and (not earliest or first < earliest) then
  redis.call('HSET', event, 'first_push_ms', args.first_push_ms)
end
if last > 0 and (not latest or last > latest) then
  redis.call('HSET', event, 'last_push_ms', args.last_push_ms)
end
count_verdicts(true)
keep_notes(first_note)
local done = conclude()
keep()
if owner ~= '' then
  try('HSET', receipts, segment, string.format('%s %d %d', owner, done, failed))
  try('EXPIRE', receipts, args.receipt_seconds)
end
return {'recorded', done, failed, done > 0 and outcomes() or {}, redis.call('HGETALL', sums)}
