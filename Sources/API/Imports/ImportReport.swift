import Devices
import JSON

/// How an import fares.
struct ImportReport: Sendable {
  enum State: String {
    case running, done, failed
    /// Its process, or the way to Redis, is gone: nobody reads it any more.
    case interrupted
  }

  let id: String
  /// Whose key began it.
  let key: String
  /// Ms since 1970.
  let beganAt: Int64
  var state = State.running
  var counts = AudienceImporter.Counts()
  private(set) var refusals: [(line: Int, reason: String)] = []
  /// Why it failed.
  var why: String?

  /// A file with the same mistake in every line is told in a screenful.
  static let maximumRefusals = 20
  private static let maximumReasonBytes = 512

  init(id: String, key: String, beganAt: Int64) {
    self.id = id
    self.key = key
    self.beganAt = beganAt
  }

  mutating func add(_ reason: @autoclosure () -> String, of line: Int) {
    guard refusals.count < Self.maximumRefusals else { return }
    refusals.append(
      (line, String(decoding: reason().utf8.prefix(Self.maximumReasonBytes), as: UTF8.self)))
  }

  var members: [(String, JSONValue)] {
    var members: [(String, JSONValue)] = [
      ("import", .string(id)), ("state", .string(state.rawValue)), ("key", .string(key)),
      ("rows", .integer(Int64(counts.rows))), ("refused", .integer(Int64(counts.refused))),
      ("users", .integer(Int64(counts.users))), ("devices", .integer(Int64(counts.devices))),
      ("follows", .integer(Int64(counts.follows))), ("tags", .integer(Int64(counts.tags))),
      ("divided", .array(counts.divided.map { .string($0) })),
      (
        "refusals",
        .array(
          refusals.map {
            .object(
              JSONObject([("line", .integer(Int64($0.line))), ("reason", .string($0.reason))]))
          })
      ),
      ("began_at_ms", .integer(beganAt)),
    ]
    if let why { members.append(("why", .string(why))) }
    return members
  }

  /// As `members` have it; nil: it is none of ours.
  init?(_ object: JSONObject) {
    guard let id = object["import"]?.string, let key = object["key"]?.string,
      let state = object["state"]?.string.flatMap({ State(rawValue: $0) }),
      let beganAt = object["began_at_ms"]?.integer
    else { return nil }
    self.init(id: id, key: key, beganAt: beganAt)
    self.state = state
    func count(_ name: String) -> Int { object[name]?.integer.map { Int($0) } ?? 0 }
    counts.rows = count("rows")
    counts.refused = count("refused")
    counts.users = count("users")
    counts.devices = count("devices")
    counts.follows = count("follows")
    counts.tags = count("tags")
    counts.divided = object["divided"]?.array?.compactMap(\.string) ?? []
    for refusal in object["refusals"]?.array?.compactMap(\.object) ?? [] {
      guard let line = refusal["line"]?.integer, let reason = refusal["reason"]?.string else {
        continue
      }
      add(reason, of: Int(line))
    }
    why = object["why"]?.string
  }
}
