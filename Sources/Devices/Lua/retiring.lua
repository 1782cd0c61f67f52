-- Notes that nobody will read a generation any more.
-- KEYS: the hash of an audience.
local heading = KEYS[1]
local function retire(known, generation, shards)
  local retired = (known and known .. ' ' or '') .. generation .. ':' .. shards
  redis.call('HSET', heading, 'retired', retired)
  return retired
end
