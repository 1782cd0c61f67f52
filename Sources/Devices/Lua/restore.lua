-- Gives back what was quarantined or pruned. The time of the binding is what it was, so that a
-- younger 410 takes it out again; where none is known, any does. Nobody notes for longer than
-- `pruned_lifetime_seconds` who has bound a pruned token since. Needs `permissions` and `late`,
-- with the keys of `user_tokens`.
-- args: member; number: of the move; is_returning: 1 when the user was to leave the token; value:
-- what stands beside the device; bound_at: the time of its binding, or empty;
-- pruned_lifetime_seconds: how long what was pruned is kept.
-- Answers `done`, `late` or `changed`.
local problem = wrong_user() or forbidden({
  {'HDEL', quarantined, 'a'}, {'HSETNX', bound, 'a', '1'}, {'SADD', bindings, 'a'}})
if problem then return problem end
if redis.call('HGET', quarantined, args.member) ~= args.value then return 'changed' end
local pruned_at = tonumber(string.match(args.value, ' (%d+) pruned ') or '')
if pruned_at and pruned_at < now - args.pruned_lifetime_seconds * 1000 then
  return 'changed'
end
if is_late(args.member, args.number, args.is_returning) then return 'late' end
redis.call('HDEL', quarantined, args.member)
if args.bound_at ~= '' then redis.call('HSETNX', bound, args.member, args.bound_at) end
redis.call('SADD', bindings, args.member)
return 'done'
