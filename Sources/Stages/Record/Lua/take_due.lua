-- Hands out scheduled events that are due. Each stands a while ahead then: where the worker that
-- got it dies, another one gets it. Needs `clock`.
-- KEYS: scheduled events.
-- args: maximum: events; lease_ms: how far ahead they stand.
-- Answers the id of each, and the lease: the time at which it stands now.
local scheduled, taken = KEYS[1], {}
local first = redis.call('ZRANGE', scheduled, 0, tonumber(args.maximum) - 1, 'WITHSCORES')
for i = 1, #first, 2 do
  if tonumber(first[i + 1]) > now then break end
  local lease = whole(now + tonumber(args.lease_ms))
  redis.call('ZADD', scheduled, lease, first[i])
  taken[#taken + 1] = first[i]
  taken[#taken + 1] = lease
end
return taken
