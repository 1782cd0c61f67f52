-- Counts dead letters in the statistics, once for each receipt.
-- KEYS: statistics of all time, of the day, of the minute, and the receipt of this call.
-- args: day_seconds, minute_seconds, receipt_seconds: how long each of the keys lives.
-- list: name and amount of each counter.
local total, day, minute, receipt = unpack(KEYS)
if not redis.call('SET', receipt, '1', 'NX', 'EX', args.receipt_seconds) then return 0 end
for i = 1, #list, 2 do
  for _, key in ipairs({total, day, minute}) do
    redis.call('HINCRBY', key, list[i], list[i + 1])
  end
end
redis.call('EXPIRE', day, args.day_seconds)
redis.call('EXPIRE', minute, args.minute_seconds)
return 1
