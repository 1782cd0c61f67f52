-- Takes a token from the user in every app and environment, unless it has come back since. Needs
-- `types`, `permissions`, `token_of`, `user_tokens` and `dropping`.
-- args: token, number: of the move.
-- Answers 1, or 0 when a later move has been here.
local problem = wrong(bindings, 'set') or may_not_drop()
if problem then return problem end
if moved_to(args.token) > tonumber(args.number) then return 0 end
for index, command in ipairs({'SMEMBERS', 'HKEYS', 'HKEYS'}) do
  -- An error has no members.
  for _, member in ipairs(redis.pcall(command, KEYS[index])) do
    if token_of(member) == args.token then drop(member) end
  end
end
remember(args.token, args.number)
return 1
