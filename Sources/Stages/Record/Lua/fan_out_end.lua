-- Functions that know when a fan-out has come to its end, what is missing of it then (segments
-- whose records are in the dead letters, or of which Redis has lost what was noted), and what
-- became of the rest: the figures of "fan-out done". Needs `event`.
-- args.segments: of the fan-out. `FanOutCounter.figures`, and behind them `rareFigures` and
-- `times`.
local figures = {'recipients', 'pushes', 'accepted', 'rejected', 'expired', 'cancelled',
  'suppressed', 'retried', 'stragglers'}
local rare_figures = {'unread', 'dead_lettered', 'forgotten_ms', 'started_ms', 'first_push_ms',
  'done_ms'}

-- Segments that are in the dead letters, and those that were to be brought to Kafka by an event
-- or a plan that is.
local function lost()
  local number = redis.call('SCARD', dead)
  local planners =
    redis.call('SISMEMBER', dead, 'event') + redis.call('SISMEMBER', dead, 'plan')
  if planners > 0 then
    local plan = redis.call('HMGET', event, 'segments', 'published')
    local unpublished = (tonumber(plan[1]) or 0) - (tonumber(plan[2]) or 0)
    number = number - planners + math.max(unpublished, 0)
  end
  return number
end

local function note_lost()
  local number = lost()
  if number > 0 then
    redis.call('HSET', event, 'dead_lettered', number)
  else
    redis.call('HDEL', event, 'dead_lettered', 'dead_letter')
  end
end

local function reopen()
  redis.call('HSET', event, 'state', 'running')
  redis.call('HDEL', event, 'done_ms')
end

-- Redis has lost what was noted of the event, or which of its segments were settled.
local function note_forgotten(before)
  local known = redis.call('HMGET', event, 'source', 'settled')
  if not known[1] or (tonumber(known[2]) or 0) > before then
    redis.call('HSETNX', event, 'forgotten_ms', args.now)
  end
end

-- Whether anybody has a claim on a segment of it.
local function is_worked_on()
  local all = redis.call('HGETALL', claims)
  for i = 2, #all, 2 do
    if all[i] ~= 'dropped' and string.sub(all[i], -2) ~= ' 0' then return true end
  end
  return false
end

local function outcomes()
  local all = {}
  for _, field in ipairs(figures) do
    all[#all + 1] = field
    all[#all + 1] = redis.call('HGET', event, field) or '0'
  end
  for _, field in ipairs(rare_figures) do
    local value = redis.call('HGET', event, field)
    if value then
      all[#all + 1] = field
      all[#all + 1] = value
    end
  end
  return all
end

-- 1: all is settled. 2, once: what is not is in the dead letters, or nobody works on what Redis
-- has forgotten the rest of. 0: neither.
local function conclude()
  local state = redis.call('HGET', event, 'state')
  local planned = tonumber(redis.call('HGET', event, 'segments')) or tonumber(args.segments)
  planned = planned + redis.call('SCARD', stragglers)
  local number = redis.call('SCARD', settled)
  if number >= planned then
    if state ~= 'done' and state ~= 'expired' then finish('done') end
    return 1
  end
  local missing, known = lost(), redis.call('HMGET', event, 'forgotten_ms', 'waiting')
  local is_awaited = missing == 0 and (tonumber(known[2]) or 0) > 0
  local is_lost = missing > 0 and number + missing >= planned
  local is_over = known[1] and not is_awaited and not is_worked_on()
  if is_lost or is_over then
    if state ~= 'running' then return 0 end
    finish('incomplete')
    return 2
  end
  if state == 'incomplete' and (is_awaited or not known[1]) then reopen() end
  return 0
end
