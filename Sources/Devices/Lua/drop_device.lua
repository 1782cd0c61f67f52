-- Takes out a token of one environment and topic, or of any. Needs `types`, `permissions`,
-- `holding` and `dropping`, with the keys of `user_tokens`.
-- args: token; environment, topic: or empty.
-- Answers how many bindings there were, and whether the user still has the token.
local problem = wrong(bindings, 'set') or wrong(bound, 'hash') or wrong(quarantined, 'hash')
  or may_not_drop()
if problem then return problem end
local ending, removed = ':' .. args.token, 0
for index, command in ipairs({'SMEMBERS', 'HKEYS', 'HKEYS'}) do
  for _, member in ipairs(redis.call(command, KEYS[index])) do
    local environment, topic = string.match(member, '^[^:]*:([^:]*):([^:]*):')
    if string.sub(member, -#ending) == ending
        and (args.environment == '' or args.environment == environment)
        and (args.topic == '' or args.topic == topic) then
      removed = removed + drop(member)
    end
  end
end
return {removed, has(bindings, ending) and 1 or 0}
