-- Notes how an import fares.
-- KEYS: the import.
-- args: report, state; now: in ms since 1970; lifetime_seconds; run: the number of its run;
-- silence_ms: when it begins, for how long another may be silent.
-- Answers 1, or 0 when it was deleted meanwhile, or another runs under its id.
local import = KEYS[1]
local known = redis.call('HMGET', import, 'run', 'state', 'heard_ms')
if args.silence_ms then
  local silent = tonumber(args.now) - (tonumber(known[3] or '') or 0)
  if known[2] == 'running' and silent <= tonumber(args.silence_ms) then return 0 end
elseif known[1] ~= args.run then
  return 0
end
redis.call('HSET', import, 'report', args.report, 'state', args.state, 'heard_ms', args.now,
  'run', args.run)
redis.call('EXPIRE', import, args.lifetime_seconds)
return 1
