-- Gives a user devices. Needs `late` and `twins`, with the keys of `user_tokens`.
-- args: at: when they were bound, in ms since 1970.
-- list: member, number of the move, and 1 when the user was to leave the token, of each device.
-- Answers how many bindings are new, then the positions, from 1, of those that came too late.
local problem = wrong_user()
if problem then return problem end
for i = 1, #list, 3 do
  problem = problem or has_keys(list[i]) and may_not_drop()
end
if problem then return problem end
local at, answer, members, set = args.at, {0}, {}, {bound}
for i = 1, #list, 3 do
  if is_late(list[i], list[i + 1], list[i + 2]) then
    answer[#answer + 1] = (i + 2) / 3
  elseif not has_younger_twin(list[i], at) then
    -- Of two in one list the last counts.
    for j = #members, 1, -1 do
      if are_twins(members[j], list[i]) then table.remove(members, j) end
    end
    members[#members + 1] = list[i]
    drop_twins(list[i])
  end
end
if #members == 0 then return answer end
local times = redis.call('HMGET', bound, unpack(members))
for i, member in ipairs(members) do
  if is_news(times[i], at) then set[#set + 1], set[#set + 2] = member, at end
end
if #set > 1 then redis.call('HSET', unpack(set)) end
redis.call('HDEL', quarantined, unpack(members))
answer[1] = redis.call('SADD', bindings, unpack(members))
return answer
