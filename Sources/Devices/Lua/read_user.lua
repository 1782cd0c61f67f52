-- Reads keys of one user in one step, unless they hold more than one request should carry. Needs
-- `types`.
-- KEYS: of one user.
-- args: maximum_elements: that a key may have; maximum_bytes: that all may have.
-- list: the command that reads each key.
-- Answers {read, what each command answers …}, or {large, how many elements or bytes there are,
-- which of both, the key}.
local kind = {SMEMBERS = 'set', HGETALL = 'hash', ZCARD = 'zset'}
local size = {SMEMBERS = 'SCARD', HGETALL = 'HLEN'}
for i, key in ipairs(KEYS) do
  local problem = wrong(key, kind[list[i]])
  if problem then return problem end
  local command = size[list[i]]
  local count = command and redis.call(command, key) or 0
  if count > tonumber(args.maximum_elements) then return {'large', count, 'elements', key} end
end
local answer, bytes = {'read'}, 0
for i, key in ipairs(KEYS) do
  local value = redis.call(list[i], key)
  if type(value) == 'table' then
    for _, text in ipairs(value) do bytes = bytes + #text end
    if bytes > tonumber(args.maximum_bytes) then return {'large', bytes, 'bytes', key} end
  end
  answer[#answer + 1] = value
end
return answer
