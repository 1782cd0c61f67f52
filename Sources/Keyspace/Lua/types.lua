-- `wrong(key, type)` is the error that a script answers where a key holds another type, else
-- nothing.
local function wrong(key, wanted)
  local kind = redis.call('TYPE', key)['ok']
  if kind ~= wanted and kind ~= 'none' then
    -- A device token must not get into an error, which may be logged.
    if string.find(key, '{t:', 1, true) then key = 'the key of a token' end
    return redis.error_reply('WRONGTYPE ' .. key .. ' is a ' .. kind .. ', not a ' .. wanted)
  end
end
