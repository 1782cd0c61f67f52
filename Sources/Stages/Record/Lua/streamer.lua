-- What the scripts on a streamer's streams begin with: which have ended, what went live last, and
-- which fan-outs are to be stopped when one ends. Needs `permissions`, `types` and `clock`.
--
-- KEYS: streamer. The hash holds `ended:<stream>` → when in ms, `event:<id>` → when it occurred and
-- its stream, `refused:<id>` → when it occurred and why it is not sent, `release:<id>` → when it
-- occurred, if a release has registered it, `last:<app>:<template>` → when such an event was sent
-- last, and its id; with `:<expression>` behind it for those that select their users. The latest so
-- many of them all are kept: months of streams, and a script's work on them well under a
-- millisecond.
local kept = 100

local function may_not_keep(streamer)
  return forbidden({{'HGETALL', streamer}, {'HSET', streamer, 'f', 'v'},
    {'HDEL', streamer, 'f'}, {'EXPIRE', streamer, '1'}})
end

local function read_streamer(streamer)
  local all, values, old = redis.call('HGETALL', streamer), {}, {}
  for i = 1, #all, 2 do
    values[all[i]] = all[i + 1]
    local kind = string.match(all[i], '^(%a+):')
    if kind == 'event' or kind == 'ended' or kind == 'refused' or kind == 'release'
        or kind == 'last' then
      old[#old + 1] = {all[i], tonumber(string.match(all[i + 1], '^%d+')) or 0}
    end
  end
  if #old > 2 * kept then
    table.sort(old, function(a, b) return a[2] < b[2] end)
    for i = 1, #old - kept do redis.call('HDEL', streamer, old[i][1]) end
  end
  return values
end

local streamer = KEYS[1]
local problem = may_not_keep(streamer) or wrong(streamer, 'hash')
if problem then return problem end
