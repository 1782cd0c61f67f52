-- Keeps the request of a tap alive, or ends it. Requests that nobody kept alive go. Needs
-- `permissions`.
-- KEYS: requests of taps.
-- args: id: of the tap; request: its rate and filters, as `TapRequest` writes them, or empty to end
-- the tap; secret: the key of the hashes of tokens, unless another tap has brought one;
-- lifetime_seconds: of a request that is not kept alive; maximum: of taps.
-- Answers {`kept`, the key of the hashes}, {`ended`} or, when there are too many taps, {`full`}.
local requests, id = KEYS[1], args.id
local problem = forbidden({{'HGETALL', requests}, {'HSET', requests, 'f', 'v'},
  {'HDEL', requests, 'f'}, {'EXPIRE', requests, '1'}})
if problem then return problem end
local time = redis.call('TIME')
local now, lifetime = tonumber(time[1]), tonumber(args.lifetime_seconds)
local known = redis.call('HGETALL', requests)
local secret, others = args.secret, 0
for index = 1, #known, 2 do
  local name, value = known[index], known[index + 1]
  if name == 'secret' then
    secret = value
  elseif name ~= id then
    local ends = tonumber(string.match(value, '^until=(%d+)\n') or '')
    if ends and ends >= now and ends <= now + lifetime then
      others = others + 1
    else
      redis.call('HDEL', requests, name)
    end
  end
end
if args.request == '' then
  redis.call('HDEL', requests, id)
  if others == 0 then redis.call('HDEL', requests, 'secret') end
  return {'ended'}
end
if others >= tonumber(args.maximum) then return {'full'} end
redis.call('HSET', requests, 'secret', secret,
  id, 'until=' .. string.format('%.0f', now + lifetime) .. '\n' .. args.request)
redis.call('EXPIRE', requests, lifetime)
return {'kept', secret}
