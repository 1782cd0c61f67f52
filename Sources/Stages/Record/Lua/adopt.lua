-- Gives stragglers an owner when the segment that they left has none and no mark: Redis lost what
-- its settling wrote, or its worker died for good. Needs `event` and what that needs, with its keys
-- and arguments, and `clock` and `claims`.
-- args: those of `claims`; parent: the segment that the stragglers left; pushes: how many they are.
-- Answers as the script that claims.
local segment, owner, parent = args.segment, args.owner, args.parent
local function running(name)
  local held = redis.call('HGET', claims, name)
  if not held then return end
  local other, ends = read(held)
  if other ~= owner and ends > now then return ends end
end
if redis.call('SISMEMBER', settled, segment) == 1 then
  return {'settled', whole(now), '0'}
end
if redis.call('SISMEMBER', stragglers, segment) == 0 then
  if redis.call('SISMEMBER', settled, parent) == 1
      or redis.call('HGET', claims, segment) == 'dropped' then
    return {'orphaned', whole(now), '0'}
  end
  if running(parent) then return {'unplanned', whole(now), '0'} end
  if redis.call('EXISTS', event) == 0 then create('running') end
  redis.call('SADD', stragglers, segment)
  try('HINCRBY', event, 'stragglers', 1)
  count('stragglers', 1)
  try('HINCRBY', event, 'waiting', args.pushes)
end
-- It is planned now, and nobody asks for its parent any more.
local answer = claim('')
keep()
return answer
