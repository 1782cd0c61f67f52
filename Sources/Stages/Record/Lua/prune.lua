-- Takes tokens out of Redis of which Apple says that they are gone or unusable, all of one user.
-- Needs `permissions`, `trying`, `token_of` and `holding`.
--
-- KEYS: bindings, bound, quarantined, verdicts and undated of a user.
-- args: source: what names the segment; receipt_seconds: how long the verdicts live; now: in ms
-- since 1970; pruned_lifetime_seconds, pruned_maximum: how long and how many of what was pruned are
-- kept; undated_lifetime_seconds; earliest_ms: no device was bound before; tolerance_ms: how far
-- another clock may be ahead.
-- list: kind, Apple's timestamp, reason, and member of each verdict.
-- Answers for each 0: nothing to do; 1: refused; 2: taken out; 3: taken out, and the user has the
-- token no more; 4: quarantined; 5: kept, since nothing shows which is younger; then how many
-- commands failed.
--
-- A binding is taken out once. Who did not hear the answer gets the same again, from what stands in
-- the verdicts. A binding without a time may go. One whose time cannot be read or is impossible,
-- and any where Apple's timestamp is, stays: it is quarantined when Apple has said the same on
-- several days. What is taken out is kept for some days, so that it can be restored.
local bindings, bound, quarantined, verdicts, undated = unpack(KEYS)
-- What is taken out without a note of it would be told to nobody when the script runs again.
local problem = forbidden({
  {'HSET', verdicts, 'a', 'a'}, {'HSET', quarantined, 'a', 'a'}, {'SREM', bindings, 'a'},
  {'HDEL', bound, 'a'}})
if problem then return problem end
local now, lifetime = tonumber(args.now), tonumber(args.pruned_lifetime_seconds)
-- On so many days Apple must have said it before a device goes of which nothing shows whether it
-- was bound later.
local undated_days = 3
-- Somewhat less than a day, in ms, so that events at the same hour of each day count.
local interval = 20 * 3600000

local function time(text)
  local value = tonumber(text or '')
  if value and value >= tonumber(args.earliest_ms) and value <= now + args.tolerance_ms then
    return value
  end
end

-- Has no end while anything in it was quarantined. Of what was pruned the oldest makes room.
local function keep(member, reason, kind, bound_at)
  local fields, count, oldest, oldest_at = try('HGETALL', quarantined) or {}, 0, nil, math.huge
  local has_others = kind == 'quarantined'
  for i = 1, #fields, 2 do
    local at = tonumber(string.match(fields[i + 1], ' (%d+) pruned ') or '')
    if not at then
      has_others = true
    elseif now - at > lifetime * 1000 then
      try('HDEL', quarantined, fields[i])
    else
      count = count + 1
      if at < oldest_at then oldest, oldest_at = fields[i], at end
    end
  end
  if kind == 'pruned' and count >= tonumber(args.pruned_maximum) then
    try('HDEL', quarantined, oldest)
  end
  if not bound_at or string.find(bound_at, ' ', 1, true) then bound_at = '-' end
  try('HSET', quarantined, member,
    reason .. ' ' .. args.now .. ' ' .. kind .. ' ' .. bound_at)
  if has_others then
    -- Who may not do this loses it only where something was pruned, too.
    redis.pcall('PERSIST', quarantined)
  else
    try('EXPIRE', quarantined, lifetime)
  end
end

local function note(member, word)
  try('HSET', verdicts, member, word .. ' ' .. args.source)
  try('EXPIRE', verdicts, args.receipt_seconds)
end

local function quarantine(member, reason, word)
  if try('SREM', bindings, member) ~= 1 then return 0 end
  keep(member, reason, 'quarantined', try('HGET', bound, member))
  try('HDEL', bound, member)
  note(member, word)
  return 4
end

-- What was bound again since the first of these answers begins again.
local function doubt(member, reason, bound_at)
  if try('SISMEMBER', bindings, member) ~= 1 then return 0 end
  local known = try('HGET', undated, member) or ''
  local days, first, last = string.match(known, '^(%d+) (%d+) (%d+)$')
  days, first, last = tonumber(days), tonumber(first), tonumber(last)
  if not days or bound_at and bound_at > first then days, first, last = 0, now, 0 end
  if now - last >= interval then days, last = days + 1, now end
  if days >= undated_days then
    try('HDEL', undated, member)
    return quarantine(member, reason, 'undated-quarantined')
  end
  try('HSET', undated, member, string.format('%.0f %.0f %.0f', days, first, last))
  try('EXPIRE', undated, args.undated_lifetime_seconds)
  note(member, 'undated')
  return 5
end

local function judge(kind, finding, reason, member)
  local known = try('HGET', verdicts, member)
  if kind ~= 'gone' then
    if known == kind .. ' ' .. args.source then return 4 end
    return quarantine(member, reason, kind)
  end
  if known == 'undated ' .. args.source then return 5 end
  if known == 'undated-quarantined ' .. args.source then return 4 end
  if known ~= 'gone ' .. args.source then
    local text = try('HGET', bound, member)
    if text == nil then return 1 end
    local bound_at, since = time(text), time(finding)
    if not since or text and not bound_at then return doubt(member, reason, bound_at) end
    if bound_at and bound_at > since then return 1 end
    if try('SREM', bindings, member) ~= 1 then return 0 end
    try('HDEL', bound, member)
    keep(member, reason, 'pruned', text)
    note(member, 'gone')
  end
  if has(bindings, token_of(member)) then return 2 end
  return 3
end
local answer = {}
for i = 1, #list, 4 do
  answer[#answer + 1] = judge(list[i], list[i + 1], list[i + 2], list[i + 3])
end
answer[#answer + 1] = failed
return answer
