import Keyspace
import Model

/// The Lua that keeps what became of single pushes, in the same step as the counters of their
/// segment.
///
/// A user's field holds a note for each device, with a blank between two: the device's mark (0: all
/// of them), what became of it, when (ms since 1970), how often it was sent; numbers to the base of
/// 36. A later note on a device takes the place of the earlier: what waited gets its last word.
enum TraceScript {
  /// Stands behind the prelude. From `at` on in ARGV: notes that an event may have, those that were
  /// left out before they came here, then for each user the number of the key, the user and the
  /// notes. A note without a word takes out what is known of the device.
  static let functions = """
    local function keep_notes(at)
      if not ARGV[at] then return end
      local maximum, omitted = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
      local before = tonumber(redis.call('HGET', event, 'traced')) or 0
      local kept, parts = before, {}
      for i = at + 2, #ARGV, 3 do
        local key, user, marks, notes = KEYS[tonumber(ARGV[i])], ARGV[i + 1], {}, {}
        for note in string.gmatch(try('HGET', key, user) or '', '%S+') do
          local mark = string.match(note, '^[^:]*')
          if not notes[mark] then marks[#marks + 1] = mark end
          notes[mark] = note
        end
        local had, all = #marks, {}
        for note in string.gmatch(ARGV[i + 2], '%S+') do
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
      for key in pairs(parts) do try('EXPIRE', key, ARGV[5]) end
      if kept ~= before then redis.call('HSET', event, 'traced', kept) end
      if omitted > 0 then try('HINCRBY', event, 'trace_omitted', omitted) end
    end

    """

  /// What the function above takes, and the keys that it names, for a script that has `known` keys
  /// besides. Nothing where nothing is kept.
  static func arguments(
    of tally: SegmentTally, _ segment: Segment, maximum: Int, known: Int, _ keyspace: Keyspace
  ) -> (keys: [String], arguments: [String]) {
    guard let notes = tally.notes, !notes.all.isEmpty || notes.omitted > 0 else { return ([], []) }
    var keys: [String] = []
    var places: [Int: Int] = [:]
    // By bytes: two that are written differently are two, also where they look alike.
    var users: [[UInt8]: (key: Int, notes: String)] = [:]
    var order: [[UInt8]] = []
    for note in notes.all {
      let user = Array(notes.bytes[note.user])
      let text = self.text(of: note, notes.level)
      if users[user] == nil {
        let part = Keyspace.tracePart(
          of: notes.bytes.string(note.user), segments: segment.count)
        if places[part] == nil {
          keys.append(keyspace.trace(event: segment.event.id, part: part))
          places[part] = known + keys.count
        }
        users[user] = (places[part] ?? 0, text)
        order.append(user)
      } else {
        users[user]?.notes += " " + text
      }
    }
    var arguments = [String(maximum), String(notes.omitted)]
    for user in order {
      guard let (key, notes) = users[user] else { continue }
      arguments += [String(key), String(decoding: user, as: UTF8.self), notes]
    }
    return (keys, arguments)
  }

  /// Of what waited and was accepted nothing stays, where accepted pushes are not kept.
  private static func text(of note: OutcomeNotes.Note, _ level: OutcomeNotes.Level) -> String {
    let mark = String(note.device, radix: 36)
    if level == .failures, note.fate == .outcome(.accepted) { return "\(mark):" }
    return "\(mark):\(note.fate.name):\(String(note.at, radix: 36)):"
      + String(note.sends, radix: 36)
  }
}
