-- Looks whether the user has the token after all. Needs `holding` and `user_tokens`, with its keys.
-- args: token, number: of the move.
-- Answers 1 when the user has it, else 0: then what was begun before the move cannot bring it any
-- more.
if has(bindings, args.token) then return 1 end
if moved_to(args.token) < tonumber(args.number) then remember(args.token, args.number) end
return 0
