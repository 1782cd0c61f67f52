-- Takes a released event out of the scheduled ones, or puts it back, unless somebody has moved it
-- meanwhile.
-- KEYS: scheduled events.
-- args: id: of the event; lease: as `take_due` answered it; due: when it is due, or empty where it
-- is not any more.
-- Answers whether it stood there with this lease.
local scheduled = KEYS[1]
local score = redis.call('ZSCORE', scheduled, args.id)
if not score or tonumber(score) ~= tonumber(args.lease) then return 0 end
if args.due == '' then
  redis.call('ZREM', scheduled, args.id)
else
  redis.call('ZADD', scheduled, args.due, args.id)
end
return 1
