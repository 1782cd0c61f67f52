-- Ends a move: nobody else has to leave any more, unless somebody else has put his name on the
-- token, and sees to it. Needs `moves`, with its keys.
-- args: number: of the move; owner: who owns the token after all, or empty; former: who may get it
-- back, or not there; former_seconds: for how long.
-- Answers 1, or 0 when there was another move since.
if redis.call('HGET', moves_key, 'number') ~= args.number then return 0 end
if args.owner ~= '' and not redis.call('SET', owner_key, args.owner, 'NX') then return 0 end
keep(args.number, {args.former})
if args.former then redis.call('EXPIRE', moves_key, args.former_seconds) end
return 1
