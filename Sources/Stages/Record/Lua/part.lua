-- Counts what was sent of a segment that does not settle, once for each owner. Needs `event` and
-- what that needs, with its keys and arguments, and `verdict_counts` and `notes`.
-- KEYS from 8 on: those of `notes`.
-- args: segment; owner: of its claim; receipt_seconds: how long a receipt lives; pruned,
-- quarantined: tokens taken out and set aside; counters: how many there are; and those of `notes`.
-- list: name and amount of each counter, what `notes` takes.
local field = args.segment .. ' part'
if redis.call('HGET', receipts, field) == args.owner then return {'counted'} end
redis.call('HSET', receipts, field, args.owner)
redis.call('EXPIRE', receipts, args.receipt_seconds)
if redis.call('EXISTS', event) == 0 then create('running') end
count_verdicts(true)
local first_note = 1 + 2 * tonumber(args.counters)
for i = 1, first_note - 1, 2 do
  try('HINCRBY', event, list[i], list[i + 1])
  count(list[i], list[i + 1])
end
keep_notes(first_note)
keep()
return {'counted'}
