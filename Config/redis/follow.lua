-- Follows or unfollows a streamer in one step, at any time: also while the followers are being
-- divided into other shards. For one Redis, not for a Redis Cluster: shards are in other slots.
--
--   EVAL <this file> 1 ffd:{f:<streamer>} follow <user>
--   EVAL <this file> 1 ffd:{f:<streamer>} unfollow <user>
--
-- Tags are held as followers are: give a user a tag, or take it, by ffd:{g:<tag>}.
--
-- Where followers are in a plain set of yours until they are divided, name it as the second key:
--
--   EVAL <this file> 2 ffd:{f:<streamer>} followers:<streamer> follow <user>
--
-- Answers 1 when it changed something, 0 when it was so already.

local heading, plain, verb, user = KEYS[1], KEYS[2], ARGV[1], ARGV[2]

local function refuse(why)
  return redis.error_reply('ERR ' .. why)
end

if not heading or not string.find(heading, '{[fg]:[^{}]+}$') then
  return refuse('the first key must be <prefix>{f:<streamer>} or <prefix>{g:<tag>}')
end
-- Such an id would name a shard of another streamer or tag.
if string.find(heading, ':%d+:%d+}$') then
  return refuse('a streamer id or a tag must not end in :<digits>:<digits>')
end
if verb ~= 'follow' and verb ~= 'unfollow' then return refuse('follow or unfollow?') end
if not user or #user < 1 or #user > 128 or string.find(user, '[%z\1-\31\127{}]') then
  return refuse('a user id must be 1 to 128 bytes without control characters and braces')
end

-- CRC-32 of IEEE 802.3, as zlib computes it. Shards are a power of two.
local function shard_key(generation, shards)
  local crc = -1
  for i = 1, #user do
    crc = bit.bxor(crc, string.byte(user, i))
    for _ = 1, 8 do
      local shifted = bit.rshift(crc, 1)
      if bit.band(crc, 1) == 1 then crc = bit.bxor(shifted, 0xEDB88320) else crc = shifted end
    end
  end
  local shard = bit.band(bit.bnot(crc), shards - 1)
  return string.format('%s:%s:%d}', string.sub(heading, 1, -2), generation, shard)
end

local function is_power_of_two(number)
  return number and number >= 1 and number <= 65536 and bit.band(number, number - 1) == 0
end

local known = redis.call('HMGET', heading, 'shards', 'generation', 'next')
local shards, generation = tonumber(known[1] or ''), known[2]
local places = {}
local has_shards = known[1] or known[2]
if has_shards then
  if not is_power_of_two(shards) or not string.find(generation or '', '^%d+$') then
    return refuse('the heading must have shards (a power of two) and generation')
  end
  places[1] = shard_key(generation, shards)
elseif plain and redis.call('EXISTS', plain) == 1 then
  places[1] = plain
elseif plain and verb == 'follow' and not known[3] then
  places[1] = plain
else
  shards, generation = 1, '0'
  places[1] = shard_key(generation, shards)
end
if known[3] then
  local next_generation, next_shards = string.match(known[3], '^(%d+):(%d+)$')
  if not is_power_of_two(tonumber(next_shards or '')) then
    return refuse('the field next of the heading was not written by fanfare')
  end
  places[2] = shard_key(next_generation, tonumber(next_shards))
end

-- Nothing is written before every type is known to be right.
for _, place in ipairs(places) do
  local kind = redis.call('TYPE', place)['ok']
  if kind ~= 'set' and kind ~= 'none' then
    return redis.error_reply('WRONGTYPE ' .. place .. ' is a ' .. kind .. ', not a set')
  end
end

local command, step = 'SADD', 1
if verb == 'unfollow' then command, step = 'SREM', -1 end
local changed = 0
for index, place in ipairs(places) do
  local result = redis.call(command, place, user)
  if index == 1 then changed = result end
end
if places[1] ~= plain then
  if not has_shards and verb == 'follow' then
    redis.call('HSET', heading, 'shards', '1', 'generation', '0', 'followers', '0')
    has_shards = true
  end
  if has_shards and changed == 1 then redis.call('HINCRBY', heading, 'followers', step) end
end
return changed
