-- Whether a fan-out is running although its event is over and nobody works on it. A time in which
-- nobody looked, as while all workers were away, does not count. Needs `clock`.
-- KEYS: event, settled segments, claims.
-- args: wait_ms: for how long nothing must have happened; gap_ms: how far apart two looks may be.
-- Answers 1 when the fan-out's event is over, and every look for so long has found no claim on it
-- and the same number of settled segments.
local event, settled, claims = unpack(KEYS)
local known = redis.call('HMGET', event, 'state', 'expires_ms', 'overdue')
local expires = tonumber(known[2] or '')
if known[1] ~= 'running' or not expires or now < expires then return 0 end
local all = redis.call('HGETALL', claims)
for i = 2, #all, 2 do
  local _, ends = read(all[i])
  if ends > now then
    redis.call('HDEL', event, 'overdue')
    return 0
  end
end
local number = redis.call('SCARD', settled)
local first, last, before = string.match(known[3] or '', '^(%d+) (%d+) (%d+)$')
first, last = tonumber(first), tonumber(last)
if not first or tonumber(before) ~= number or last > now or now - last > tonumber(args.gap_ms)
then
  first = now
end
redis.call('HSET', event, 'overdue', whole(first) .. ' ' .. whole(now) .. ' ' .. number)
return now - first >= tonumber(args.wait_ms) and 1 or 0
