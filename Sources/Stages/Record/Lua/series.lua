-- Writes the counters of all time as a point of the series.
-- KEYS: statistics of all time, stream of points.
-- args: id: of the point; maximum_entries: that are kept.
-- list: the names of the counters.
-- Answers 1 when this call wrote the point, 0 when another worker had.
local total, series = unpack(KEYS)
local entry = {'XADD', series, 'MAXLEN', '~', args.maximum_entries, args.id}
for _, name in ipairs(list) do
  local value = redis.call('HGET', total, name) or '0'
  entry[#entry + 1] = name
  entry[#entry + 1] = value
end
local reply = redis.pcall(unpack(entry))
if type(reply) == 'table' and reply.err then
  if string.find(reply.err, 'equal or smaller', 1, true) then return 0 end
  return reply
end
return 1
