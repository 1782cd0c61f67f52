-- `keep_notes` keeps what became of single pushes, in the same step as the counters of their
-- segment. Needs `event`.
--
-- A user's field holds a note for each device, with a blank between two: the device's mark (0: all
-- of them), what became of it, when (ms since 1970), how often it was sent; numbers to the base of
-- 36. A later note on a device takes the place of the earlier: what waited gets its last word. A
-- note without a word takes out what is known of the device.
--
-- args: notes_maximum: that an event may have, not there when nothing is kept; notes_omitted: those
-- that were left out before they came here.
-- list, from `first` on: for each user the number of the key in KEYS, the user and the notes.
local function keep_notes(first)
  if not args.notes_maximum then return end
  local maximum, omitted = tonumber(args.notes_maximum), tonumber(args.notes_omitted)
  local before = tonumber(redis.call('HGET', event, 'traced')) or 0
  local kept, parts = before, {}
  for i = first, #list, 3 do
    local key, user, marks, notes = KEYS[tonumber(list[i])], list[i + 1], {}, {}
    for note in string.gmatch(try('HGET', key, user) or '', '%S+') do
      local mark = string.match(note, '^[^:]*')
      if not notes[mark] then marks[#marks + 1] = mark end
      notes[mark] = note
    end
    local had, all = #marks, {}
    for note in string.gmatch(list[i + 2], '%S+') do
      local mark, word = string.match(note, '^([^:]*):(.*)$')
      local is_known = (notes[mark] or '') ~= ''
      if word == '' then
        if is_known then notes[mark], kept = '', kept - 1 end
      elseif is_known or kept < maximum then
        if not notes[mark] then marks[#marks + 1] = mark end
        if not is_known then kept = kept + 1 end
        notes[mark] = note
      else
        omitted = omitted + 1
      end
    end
    for _, mark in ipairs(marks) do
      if notes[mark] ~= '' then all[#all + 1] = notes[mark] end
    end
    if #all > 0 then
      try('HSET', key, user, table.concat(all, ' '))
    elseif had > 0 then
      try('HDEL', key, user)
    end
    parts[key] = true
  end
  for key in pairs(parts) do try('EXPIRE', key, args.lifetime_seconds) end
  if kept ~= before then redis.call('HSET', event, 'traced', kept) end
  if omitted > 0 then try('HINCRBY', event, 'trace_omitted', omitted) end
end
