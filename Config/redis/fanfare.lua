#!lua name=fanfare
-- Fanfare's users, devices and followers as Redis functions (Redis 7 or later), for one Redis, not for
-- a Redis Cluster. Written by Config/redis/compose from bind.lua and follow.lua, which explain them.
--
--   redis-cli -x FUNCTION LOAD REPLACE < fanfare.lua
--
--   FCALL fanfare_bind 1 ffd:{t:<token>} <user> <environment> <topic> [<ms since 1970>] [<keys>]
--   FCALL fanfare_unbind 1 ffd:{t:<token>} <user> <environment> <topic>
--   FCALL fanfare_follow 1 ffd:{f:<streamer>} <user>
--   FCALL fanfare_unfollow 1 ffd:{f:<streamer>} <user>
--   FCALL fanfare_tag 1 ffd:{g:<tag>} <user>
--   FCALL fanfare_untag 1 ffd:{g:<tag>} <user>
--
-- Each answers 1 when it changed something, 0 when it was so already.

local function device(KEYS, ARGV)
  -- Binds a device to a user, or takes it from the user, in one step. A token belongs to one user:
  -- who binds it takes it from whoever had it. What fanfare does in several steps at the same time
  -- (audience import, device restore, a worker that takes out a dead token) finds a number here for
  -- each move of a token, and knows by it when it comes too late. For one Redis, not for a Redis
  -- Cluster: users and tokens are in other slots.
  --
  --   EVAL <this file> 1 ffd:{t:<token>} bind <user> <environment> <topic> [<ms since 1970>] [<keys>]
  --   EVAL <this file> 1 ffd:{t:<token>} unbind <user> <environment> <topic>
  --
  -- <environment> is production or sandbox, and <token> is then Apple's, in lower-case hex; or it is fcm,
  -- and <token> is Firebase's, as it is; or it is webpush, and <token> is the endpoint of a browser's
  -- subscription, which you have checked (docs/webpush.md says how). Of a subscription <keys> is
  -- <p256dh>.<auth>.<id of the VAPID key pair>, the first two in base64url without padding. <topic> is
  -- what the token is registered for: the app's bundle id, at Apple for all but the ordinary device
  -- token with the suffix of its push type, as in com.example.live.push-type.liveactivity. Without a
  -- time, or with an empty one, now is the time of the binding. Answers 1 when it changed something, 0
  -- when it was so already, and -1 to a bind whose time was given when another user has bound the token
  -- since: then nothing is changed.

  local owner_key, verb, user, environment, topic = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]

  local function refuse(why)
    return redis.error_reply('ERR ' .. why)
  end

  local prefix, token = string.match(owner_key or '', '^([^{}]*){t:([!-z|~]+)}$')
  if not token or #token > 4096 then
    return refuse('the key must be <prefix>{t:<token>}, the token without blanks and braces')
  end
  if verb ~= 'bind' and verb ~= 'unbind' then return refuse('bind or unbind?') end
  if not user or #user < 1 or #user > 128 or string.find(user, '[%z\1-\31\127{}]') then
    return refuse('a user id must be 1 to 128 bytes without control characters and braces')
  end
  local starts = {
    production = 'apns:production:', sandbox = 'apns:sandbox:', fcm = 'fcm:', webpush = 'webpush:',
  }
  if not starts[environment or ''] then
    return refuse('the environment must be production, sandbox, fcm or webpush')
  end
  local is_apple = environment == 'production' or environment == 'sandbox'
  local is_hex = not string.find(token, '[^0-9a-f]')
  if is_apple and (not is_hex or #token % 2 ~= 0 or #token > 512) then
    return refuse('the key must be <prefix>{t:<token>}, the token in lower-case hex')
  end
  if not topic or #topic > 255 or not string.find(topic, '^[%w.-]+$') then
    return refuse('the topic must be letters, digits, dots and hyphens')
  end
  local time, keys_text = ARGV[5], ARGV[6]
  if time == '' then time = nil end
  if keys_text == '' then keys_text = nil end
  if environment == 'webpush' and (string.sub(token, 1, 8) ~= 'https://' or #token > 2048) then
    return refuse('the key must be <prefix>{t:<endpoint>}, the endpoint of a subscription')
  end
  if environment == 'webpush' and verb == 'bind' then
    local p256dh, auth, id = string.match(keys_text or '', '^([%w_-]+)%.([%w_-]+)%.([%w._-]+)$')
    if not id or #p256dh ~= 87 or #auth ~= 22 or #id > 64 then
      return refuse('the keys must be <p256dh>.<auth>.<id>, as the subscription has them')
    end
  elseif keys_text then
    return refuse('only subscriptions that are bound have keys')
  end
  local now = redis.call('TIME')
  local at = tonumber(time or string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000)))
  -- Neither infinite nor beyond what a number counts exactly.
  if not at or at ~= math.floor(at) or math.abs(at) > 9007199254740992 then
    return refuse('the time must be milliseconds since 1970')
  end

  -- The day of a time, as in 1970-01-20.
  local function day(milliseconds)
    local days = math.floor(milliseconds / 86400000) + 719468
    local era = math.floor(days / 146097)
    local rest = days - era * 146097
    local year = math.floor((rest - math.floor(rest / 1460) + math.floor(rest / 36524)
      - math.floor(rest / 146096)) / 365)
    rest = rest - (365 * year + math.floor(year / 4) - math.floor(year / 100))
    local month = math.floor((5 * rest + 2) / 153)
    rest = rest - math.floor((153 * month + 2) / 5) + 1
    month = month < 10 and month + 3 or month - 9
    return string.format('%.0f-%02d-%02d', year + era * 400 + (month <= 2 and 1 or 0), month, rest)
  end

  -- From June 2009 on, when push began, to 2099; the future counts as now.
  local earliest, latest = 1243814400000, 4102444800000
  if at < earliest or at > latest then
    return refuse(string.format('the time must be milliseconds since 1970, and %.0f ms is %s', at, day(at))
      .. (at * 1000 >= earliest and at * 1000 <= latest and ': give milliseconds' or ''))
  end
  local present = now[1] * 1000 + math.floor(now[2] / 1000)
  at = math.min(at, present)

  local function keys(of)
    local start = prefix .. '{u:' .. of .. '}:'
    return {start .. 'bindings', start .. 'bound', start .. 'quarantined', start .. 'moves'}
  end

  local moves, lifetime = owner_key .. ':moves', 600

  -- Nothing is written before every type is known to be right.
  local function wrong(key, wanted)
    local kind = redis.call('TYPE', key)['ok']
    if kind ~= wanted and kind ~= 'none' then
      -- A device token must not get into an error, which may be logged.
      if key == owner_key or key == moves then key = 'the key of the token' end
      return redis.error_reply('WRONGTYPE ' .. key .. ' is a ' .. kind .. ', not a ' .. wanted)
    end
  end

  local function wrong_user(of)
    local places = keys(of)
    return wrong(places[1], 'set') or wrong(places[2], 'hash') or wrong(places[3], 'hash')
      or wrong(places[4], 'zset')
  end

  local function drop(of, member)
    local places = keys(of)
    redis.call('HDEL', places[2], member)
    redis.call('HDEL', places[3], member)
    return redis.call('SREM', places[1], member)
  end

  local member = starts[environment] .. topic .. ':' .. (keys_text and keys_text .. ':' or '') .. token
  local problem = wrong(owner_key, 'string') or wrong(moves, 'hash') or wrong_user(user)
  if problem then return problem end
  local owner = redis.call('GET', owner_key)
  if owner == '' then owner = false end

  local function is_of_token(binding)
    -- Apple's have a field for the environment, browsers' one for keys.
    local pattern = '^[^:]*:[^:]*:(.*)$'
    if string.sub(binding, 1, 5) == 'apns:' or string.sub(binding, 1, 8) == 'webpush:' then
      pattern = '^[^:]*:[^:]*:[^:]*:(.*)$'
    end
    return string.match(binding, pattern) == token
  end

  -- A subscription with other keys, of the same app and endpoint.
  local function is_twin(binding)
    return environment == 'webpush' and binding ~= member and is_of_token(binding)
      and string.match(binding, '^webpush:([^:]*):') == topic
  end

  -- Whether the user has the subscription with other keys, which the new one takes the place of.
  local function has_twin()
    if environment ~= 'webpush' then return false end
    for _, had in ipairs(redis.call('SMEMBERS', keys(user)[1])) do
      if is_twin(had) then return true end
    end
    return false
  end

  -- Takes out the user's subscription, whatever its keys. Answers how many there were.
  local function drop_twins()
    local removed = 0
    if environment ~= 'webpush' then return removed end
    for place, command in ipairs({'SMEMBERS', 'HKEYS', 'HKEYS'}) do
      for _, had in ipairs(redis.call(command, keys(user)[place])) do
        if is_twin(had) then removed = removed + drop(user, had) end
      end
    end
    return removed
  end

  -- Who has to leave the token: who owned it, and whom an earlier move that broke off has left over.
  local last, is_returning, others = redis.call('HGET', moves, 'number'), false, {}
  if owner and owner ~= user then others[1] = owner end
  for _, field in ipairs(redis.call('HKEYS', moves)) do
    if string.sub(field, 1, 1) == ':' then
      local other = string.sub(field, 2)
      if other == user then is_returning = true
      elseif other ~= owner then others[#others + 1] = other end
    end
  end
  -- Larger than that of any move before.
  local number = math.max(now[1] * 1000000 + now[2], (tonumber(last or '') or 0) + 1)
  number = string.format('%.0f', number)

  local function remember(of)
    local place = keys(of)[4]
    local old = string.format('%.0f', number - lifetime * 1000000)
    redis.call('ZADD', place, number, token)
    redis.call('ZREMRANGEBYSCORE', place, '-inf', old)
    redis.call('EXPIRE', place, lifetime)
  end

  local function wrong_others()
    for _, other in ipairs(others) do
      problem = wrong_user(other)
      if problem then return problem end
    end
  end

  local function move()
    for _, other in ipairs(others) do
      for place, command in ipairs({'SMEMBERS', 'HKEYS', 'HKEYS'}) do
        for _, had in ipairs(redis.call(command, keys(other)[place])) do
          if is_of_token(had) then drop(other, had) end
        end
      end
      remember(other)
    end
    redis.call('DEL', moves)
    redis.call('HSET', moves, 'number', number)
    redis.call('EXPIRE', moves, lifetime)
  end

  if verb == 'unbind' then
    local is_theirs = owner == user or (not owner and is_returning)
    if is_theirs and wrong_others() then return problem end
    local removed = drop(user, member) + drop_twins()
    -- Whoever has the token in another app or environment still owns it.
    for _, has in ipairs(redis.call('SMEMBERS', keys(user)[1])) do
      if is_of_token(has) then return removed end
    end
    if is_theirs then
      move()
      remember(user)
      redis.call('DEL', owner_key)
    end
    return removed
  end

  if wrong_others() then return problem end
  -- A user has a bounded number of devices, so that reading them holds nobody up.
  local count = redis.call('SCARD', keys(user)[1])
  if count >= 1000 and redis.call('SISMEMBER', keys(user)[1], member) == 0 and not has_twin() then
    return refuse('the user has ' .. count .. ' devices already, at most 1000 are taken')
  end
  -- A registration that is told later than it was takes nothing from whoever logged in since.
  if time and owner and owner ~= user then
    if redis.call('HLEN', keys(owner)[2]) > 2000 then return -1 end
    local times = redis.call('HGETALL', keys(owner)[2])
    for i = 1, #times, 2 do
      -- What is in other units, or said to come from the future, is no time.
      local since = tonumber(times[i + 1]) or 0
      if is_of_token(times[i]) and since > at and since <= present + 86400000 then return -1 end
    end
  end
  local places = keys(user)
  -- Keys that are told later than they were take the place of no younger ones.
  for _, had in ipairs(redis.call('SMEMBERS', places[1])) do
    local since = is_twin(had) and tonumber(redis.call('HGET', places[2], had) or '')
    if since and since > at and since <= present + 86400000 then return 0 end
  end
  -- A token that nobody else had of late leaves no trace.
  if last or #others > 0 then move() end
  if is_returning or redis.call('ZSCORE', places[4], token) then remember(user) end
  redis.call('SET', owner_key, user)
  -- A registration that arrives late must not make the binding look older than it is.
  local known = tonumber(redis.call('HGET', places[2], member) or '')
  if not known or known < at or known > present + 86400000 then
    redis.call('HSET', places[2], member, string.format('%.0f', at))
  end
  redis.call('HDEL', places[3], member)
  drop_twins()
  return redis.call('SADD', places[1], member)
end

local function audience(KEYS, ARGV)
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
end

local function register(name, body, verb)
  redis.register_function(name, function(keys, arguments)
    table.insert(arguments, 1, verb)
    return body(keys, arguments)
  end)
end

register('fanfare_bind', device, 'bind')
register('fanfare_unbind', device, 'unbind')
register('fanfare_follow', audience, 'follow')
register('fanfare_unfollow', audience, 'unfollow')
register('fanfare_tag', audience, 'follow')
register('fanfare_untag', audience, 'unfollow')
