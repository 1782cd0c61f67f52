import JSON
import Keyspace
import Model
import Text

/// The stragglers' part of a segment record. A push is an array: user, member, tries, losses,
/// refusals, whether it may have arrived, and the suspicion against it, which may be missing.
package enum StragglerRecord {
  /// Ids are a segment's name, a mark and 16 digits; longer ones are none of ours.
  private static let maximumIDBytes = 128
  /// Of quotes, commas and numbers, for each push.
  private static let frameBytes = 40
  /// A list never holds more, however short the names.
  package static let maximumPushes = 512

  /// Apple may be asked about all pushes of a list within this, in ms.
  private static let together: Int64 = 5000

  /// Cuts pushes of one topic into lists that each fit a record and have one route, so that what a
  /// closed route keeps waiting keeps nothing else; nor does what Apple wants to be asked about
  /// later.
  package static func lists(_ pushes: [Straggler]) -> [[Straggler]] {
    Destination.all.flatMap { destination in
      timed(pushes.filter { $0.destination == destination }).flatMap(cut)
    }
  }

  private static func timed(_ pushes: [Straggler]) -> [[Straggler]] {
    let later = pushes.filter { $0.askAgainAt > 0 }
    guard !later.isEmpty else { return [pushes] }
    var groups = [pushes.filter { $0.askAgainAt == 0 }]
    var first = Int64.min
    for push in later.sorted(by: { $0.askAgainAt < $1.askAgainAt }) {
      if groups.count == 1 || push.askAgainAt - first > together {
        groups.append([])
        first = push.askAgainAt
      }
      groups[groups.count - 1].append(push)
    }
    return groups
  }

  private static func cut(_ pushes: [Straggler]) -> [[Straggler]] {
    var lists: [[Straggler]] = []
    var list: [Straggler] = []
    var bytes = 0
    for push in pushes {
      // A control character takes six bytes in JSON; ids and members have none, but quotes count
      // twice.
      let size = 2 * push.user.utf8.count + push.member.utf8.count + frameBytes
      if list.count == maximumPushes || bytes + size > IngestOptions.stragglerBytes {
        lists.append(list)
        list = []
        bytes = 0
      }
      list.append(push)
      bytes += size
    }
    if !list.isEmpty { lists.append(list) }
    return lists
  }

  static func members(_ list: StragglerList) -> [UInt8] {
    let pushes = list.pushes.map { push in
      let history = push.history
      return "[\(JSONString.quoted(push.user)),\(JSONString.quoted(push.member)),\(history.tries),"
        + "\(history.losses),\(history.refusals),\(history.mayHaveArrived),"
        + "\(history.suspicion)]"
    }
    return Array(
      (#","id":\#(JSONString.quoted(list.id)),"parent":\#(JSONString.quoted(list.parent)),"#
        + #""stragglers":[\#(pushes.joined(separator: ","))]"#).utf8)
  }

  static func decode(_ object: JSONObject) throws(IngestError) -> StragglerList {
    guard let id = identifier(object["id"]), id.contains(StragglerList.mark),
      let parent = identifier(object["parent"]), let items = object["stragglers"]?.array,
      (1...maximumPushes).contains(items.count)
    else {
      throw IngestError(
        .badSegment, "stragglers are 1 to \(maximumPushes) pushes with an id and a parent")
    }
    let maximumMemberBytes = Binding.maximumMemberBytes
    var pushes: [Straggler] = []
    pushes.reserveCapacity(items.count)
    for item in items {
      guard let push = straggler(item.array ?? [], maximumMemberBytes) else {
        throw IngestError(
          .badSegment,
          "a straggler is user, member, tries, losses, refusals, a boolean and a number")
      }
      pushes.append(push)
    }
    return StragglerList(id: id, parent: parent, pushes: pushes)
  }

  private static func identifier(_ value: JSONValue?) -> String? {
    guard let text = value?.string, text.utf8.count <= maximumIDBytes, Keyspace.isIdentifier(text)
    else { return nil }
    return text
  }

  private static func straggler(_ fields: [JSONValue], _ maximumMemberBytes: Int) -> Straggler? {
    guard (6...7).contains(fields.count), let user = fields[0].string, Keyspace.isIdentifier(user),
      let member = fields[1].string, member.utf8.count <= maximumMemberBytes,
      member.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
      let tries = fields[2].integer, let losses = fields[3].integer,
      let refusals = fields[4].integer, case .bool(let mayHaveArrived) = fields[5],
      let suspicion = fields.count == 7 ? fields[6].integer : 0,
      tries >= 0, losses >= 0, refusals >= 0, suspicion >= 0
    else { return nil }
    return Straggler(
      user: user, member: member,
      history: PushHistory(
        tries: UInt16(clamping: tries), losses: UInt8(clamping: losses),
        refusals: UInt8(clamping: refusals), mayHaveArrived: mayHaveArrived,
        suspicion: UInt16(clamping: suspicion)))
  }
}
