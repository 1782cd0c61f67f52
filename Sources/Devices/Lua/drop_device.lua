-- Takes out a token of one destination and topic, or of any. Needs `types`, `permissions`,
-- `token_of`, `holding` and `dropping`, with the keys of `user_tokens`.
-- args: token; prefix: what members of the destination begin with, or empty; topic: or empty.
-- Answers how many bindings there were, and whether the user still has the token.
local problem = wrong(bindings, 'set') or wrong(bound, 'hash') or wrong(quarantined, 'hash')
  or may_not_drop()
if problem then return problem end
local removed = 0
for index, command in ipairs({'SMEMBERS', 'HKEYS', 'HKEYS'}) do
  for _, member in ipairs(redis.call(command, KEYS[index])) do
    local topic = topic_of(member)
    if token_of(member) == args.token
        and string.sub(member, 1, #args.prefix) == args.prefix
        and (args.topic == '' or args.topic == topic) then
      removed = removed + drop(member)
    end
  end
end
return {removed, has(bindings, args.token) and 1 or 0}
