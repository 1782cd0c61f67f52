-- Notes with an event that the statistics could not be added to.
-- KEYS: event.
-- args: errors: how many counters.
local event = KEYS[1]
if redis.call('EXISTS', event) == 0 then return 0 end
redis.pcall('HINCRBY', event, 'record_errors', args.errors)
return 1
