-- A run says how many tokens it has taken out, and set aside, since it began: what is said again,
-- or was said in part, counts once. What of it is counted stands in the event's sums until the
-- segment is settled. Needs `event`.
-- args: segment; owner: of its claim; pruned, quarantined: tokens taken out and set aside so far.
local function count_verdicts(is_last)
  local owner, pruned, quarantined = args.owner, args.pruned, args.quarantined
  local field = '.verdicts:' .. args.segment
  local known = try('HGET', sums, field)
  local of, before, aside = string.match(known or '', '^(.*) (%d+) (%d+)$')
  if of ~= owner then before, aside = '0', '0' end
  for _, counter in ipairs({{'pruned', pruned, before}, {'quarantined', quarantined, aside}}) do
    local more = tonumber(counter[2]) - tonumber(counter[3])
    if more > 0 then
      try('HINCRBY', event, counter[1], more)
      count(counter[1], more)
    end
  end
  if not is_last then
    try('HSET', sums, field, owner .. ' ' .. pruned .. ' ' .. quarantined)
  elseif known then
    try('HDEL', sums, field)
  end
end
