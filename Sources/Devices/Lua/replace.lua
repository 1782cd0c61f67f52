-- One device in the place of another. Needs `permissions`, `holding`, `dropping`, `late` and
-- `twins`, with the keys of `user_tokens`.
-- args: at: when it was bound, in ms since 1970; member: the new device; number: of its move;
-- is_returning: 1 when the user was to leave its token; old: member of the old device.
-- Answers {late}, or whether the old one was there, and whether the user still has its token.
local problem = wrong_user() or may_not_drop() or forbidden({
  {'HGET', bound, 'a'}, {'HSET', bound, 'a', '1'}, {'SADD', bindings, 'a'}})
if problem then return problem end
local at, member, old = args.at, args.member, args.old
if is_late(member, args.number, args.is_returning) then return {'late'} end
-- Of a subscription that was there before only the endpoint is known.
local removed = drop(old) + drop_twins(old)
if has_younger_twin(member, at) then
  return {removed, has(bindings, token_of(old)) and 1 or 0}
end
drop_twins(member)
if is_news(redis.call('HGET', bound, member), at) then
  redis.call('HSET', bound, member, at)
end
redis.call('HDEL', quarantined, member)
redis.call('SADD', bindings, member)
return {removed, has(bindings, token_of(old)) and 1 or 0}
