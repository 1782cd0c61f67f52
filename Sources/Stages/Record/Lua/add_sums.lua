-- Brings what an event has counted into the statistics, which have a hash tag of their own. Needs
-- `permissions` and `trying`.
--
-- An event's sums only grow, and the statistics know how much of them they have: what they add is
-- the difference. So anybody may bring them at any time and as often as he likes, sums that come
-- late or twice change nothing, and what one has not brought the next one brings.
--
-- KEYS: statistics of all time, of the day, of the minute, stream of summaries, stream of fan-outs,
-- how much of the event's sums the statistics have.
-- args: id: of the event; day_seconds, minute_seconds, known_seconds: how long the keys live;
-- maximum_entries: that each of the two streams keeps.
-- list: name and value of each sum.
-- Answers how many counters could not be added to: they are passed over, so that a broken one holds
-- up no segment.
local total, day, minute, events, fanouts, known = unpack(KEYS)
local problem = forbidden({{'TYPE', known}, {'HGETALL', known}, {'HSET', known, 'f', 'v'},
  {'HDEL', known, 'f'}, {'EXPIRE', known, '1'}, {'HINCRBY', total, 'f', '1'},
  {'HINCRBY', day, 'f', '1'}, {'HINCRBY', minute, 'f', '1'}, {'EXPIRE', day, '1'},
  {'EXPIRE', minute, '1'}, {'XADD', events, '*', 'f', 'v'}, {'XADD', fanouts, '*', 'f', 'v'}})
if problem then return problem end
local kind = redis.call('TYPE', known)['ok']
if kind ~= 'hash' and kind ~= 'none' then
  redis.pcall('HINCRBY', total, 'record_errors', 1)
  return 1
end

local sums, had = {}, {}
for i = 1, #list, 2 do sums[list[i]] = list[i + 1] end
local all = redis.call('HGETALL', known)
for i = 1, #all, 2 do had[all[i]] = all[i + 1] end
local since, before = tonumber(sums['.since']) or 0, tonumber(had['.since']) or 0
-- Redis has lost the event since then, and it has begun again.
if since < before then return 0 end
local old = {}
if since > before then old, had = had, {} end
local now_known, changes = {'HSET', known, '.since', sums['.since'] or '0'}, {}
for i = 1, #list, 2 do
  local name, value = list[i], list[i + 1]
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
redis.call('EXPIRE', known, args.known_seconds)

local function append(stream, entry)
  try('XADD', stream, 'MAXLEN', '~', args.maximum_entries, '*', unpack(entry))
end
for _, change in ipairs(changes) do
  local name, more, has = unpack(change)
  if name == '.begun' then
    append(fanouts, {'event', args.id})
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
redis.call('EXPIRE', day, args.day_seconds)
redis.call('EXPIRE', minute, args.minute_seconds)
if failed > 0 then redis.pcall('HINCRBY', total, 'record_errors', failed) end
return failed
