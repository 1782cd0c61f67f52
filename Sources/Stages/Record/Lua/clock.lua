-- `now` by Redis' clock, in ms since 1970, and functions on claims, each of which is `<owner>
-- <end>` in the hash of claims, the end in ms since 1970. One that took the place of another's
-- keeps that in front, as `<claim> > <owner> <end>`, until the segment is settled or the claim is
-- released: an owner that did not hear whom it follows may ask again.
-- `Claim.longestLifetime` and 10 seconds. An end that is further off than any lifetime leads is
-- none of a claim: Redis' clock was ahead when it was written, and was set back. A replica that was
-- promoted may be a little behind.
local farthest_ms = 310000
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function whole(number) return string.format('%.0f', number) end
-- Its owner, its end, and the claim whose place it took, or nothing.
local function read(claim)
  local former, own = string.match(claim, '^(.*) > (.*)$')
  local owner, ends = string.match(own or claim, '^(.*) (%d+)$')
  ends = tonumber(ends) or 0
  if ends > now + farthest_ms then ends = 0 end
  return owner, ends, former or ''
end
local function write(key, segment, owner, lifetime, former)
  local own = owner .. ' ' .. whole(now + tonumber(lifetime))
  if former ~= '' then own = former .. ' > ' .. own end
  redis.call('HSET', key, segment, own)
end
