-- Mutes streamers for a user, or lets them be heard again. No id holds a line feed, so that each
-- line is one.
-- KEYS: profile.
-- args: field: that lists them; is_muting: 1 to mute and 0 to hear again; maximum_bytes: of the
-- field.
-- list: the streamers.
-- Answers how many were not so before, -1 when there is no room for them.
local profile = KEYS[1]
local text = redis.call('HGET', profile, args.field) or ''
local lines, wanted, changed = {}, {}, 0
for _, streamer in ipairs(list) do wanted[streamer] = true end
for line in string.gmatch(text, '[^\n]+') do
  if not wanted[line] then
    lines[#lines + 1] = line
  elseif args.is_muting == '0' then
    changed = changed + 1
  elseif wanted[line] ~= 'there' then
    lines[#lines + 1] = line
    wanted[line] = 'there'
  end
end
if args.is_muting == '1' then
  for _, streamer in ipairs(list) do
    if wanted[streamer] ~= 'there' then
      lines[#lines + 1] = streamer
      wanted[streamer] = 'there'
      changed = changed + 1
    end
  end
end
if changed == 0 then return 0 end
text = table.concat(lines, '\n')
if args.is_muting == '1' and #text > tonumber(args.maximum_bytes) then return -1 end
if text == '' then
  redis.call('HDEL', profile, args.field)
else
  redis.call('HSET', profile, args.field, text)
end
return changed
