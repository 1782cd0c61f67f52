import Keyspace
import Model
import Redis

/// The arguments of `notes.lua`, which keeps the outcomes of single pushes in the same step as the
/// counters of their segment.
struct NotesCall {
  var keys: [String] = []
  var arguments: ScriptArguments = [:]
  var list: [String] = []
}

extension NotesCall {
  /// For a script that has `known` keys besides. Nothing where nothing is kept.
  init(of tally: SegmentTally, _ segment: Segment, maximum: Int, known: Int, _ keyspace: Keyspace) {
    guard let notes = tally.notes, !notes.all.isEmpty || notes.omitted > 0 else { return }
    var places: [Int: Int] = [:]
    // By bytes: two that are written differently are two, also where they look alike.
    var users: [[UInt8]: (key: Int, notes: String)] = [:]
    var order: [[UInt8]] = []
    for note in notes.all {
      let user = Array(notes.bytes[note.user])
      let text = Self.text(of: note, notes.level)
      if users[user] == nil {
        let part = Keyspace.tracePart(of: notes.bytes.string(note.user), segments: segment.count)
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
    arguments = ["notes_maximum": String(maximum), "notes_omitted": String(notes.omitted)]
    for user in order {
      guard let (key, notes) = users[user] else { continue }
      list += [String(key), String(decoding: user, as: UTF8.self), notes]
    }
  }

  /// Of what waited and was accepted nothing stays, where accepted pushes are not kept.
  private static func text(of note: OutcomeNotes.Note, _ level: OutcomeNotes.Level) -> String {
    let mark = String(note.device, radix: 36)
    if level == .failures, note.fate == .outcome(.accepted) { return "\(mark):" }
    return "\(mark):\(note.fate.name):\(String(note.at, radix: 36)):"
      + String(note.sends, radix: 36)
  }
}
