import JSON
import Model
import Render

/// A trace for programs: what the API answers, and the verb prints with `--json`.
extension Trace {
  /// The parts of a user's data that somebody may see.
  package struct Access: Sendable, Equatable {
    /// Whole tokens; otherwise enough to tell devices of one user apart.
    package var showsTokens: Bool
    /// The text that the user would get.
    package var showsPayload: Bool

    package init(showsTokens: Bool, showsPayload: Bool) {
      self.showsTokens = showsTokens
      self.showsPayload = showsPayload
    }
  }

  package func json(_ access: Access) -> JSONValue {
    var members: [(String, JSONValue)] = [("event", .string(event)), ("user", .string(user))]
    members += Self.members(of: finding)
    members.append(("fanout", fanOut))
    members.append(("follows_now", follower.map { .bool($0.isThere) } ?? .null))
    members.append(("segment", Self.text(segment)))
    members.append(("segment_settled", .bool(isSettled)))
    members.append(("devices", .array(devices.map { json($0, access) })))
    members.append(("problems", .array(problems.map { .string($0) })))
    members.append(("suppressed_now", Self.text(ruleNow?.name)))
    members.append(("rendered_now", rendered.json(access)))
    return .object(JSONObject(members))
  }

  /// On one line.
  package func jsonText(_ access: Access) -> String { JSONText.compact(json(access)) }

  private static func members(of finding: Finding) -> [(String, JSONValue)] {
    [
      ("verdict", .string(finding.verdict.rawValue)), ("reason", .string(finding.reason)),
      ("explanation", .string(finding.explanation)), ("next", .string(finding.next)),
    ]
  }

  private var fanOut: JSONValue {
    .object(
      JSONObject([
        ("state", .string(status.state.rawValue)),
        ("brake", .string(status.halt?.rawValue ?? "")),
        ("streamer", .string(status.streamer)), ("template", .string(status.template)),
        ("app", Self.text(app)), ("topic", Self.text(topic)),
        ("started_ms", .integer(Int64(status.startedAt))),
        ("done_ms", .integer(Int64(status.doneAt))),
        ("expires_at_ms", Self.number(expiresAt)),
        ("duplicate", .string(status.duplicate)),
        ("trace", .string(status.trace.isEmpty ? "none" : status.trace)),
        ("trace_omitted", .integer(Int64(status.traceOmitted))),
      ]))
  }

  private func json(_ device: TracedDevice, _ access: Access) -> JSONValue {
    let token = access.showsTokens ? device.binding?.token : device.shortToken
    return .object(
      JSONObject(
        [
          ("environment", Self.text(device.binding?.destination.name)),
          ("topic", Self.text(device.binding?.topic)), ("token", Self.text(token)),
          ("state", .string(device.state.rawValue)), ("since_ms", Self.number(device.since)),
          ("apns_id", Self.text(device.apnsID(of: event))),
        ] + Self.members(of: device.finding) + [
          ("at_ms", Self.number(device.at)),
          ("sends", Self.number(device.sends.map { Int64($0) })),
        ]))
  }

  private static func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
  private static func number(_ number: Int64?) -> JSONValue { number.map { .integer($0) } ?? .null }
}

extension RenderedNow {
  fileprivate func json(_ access: Trace.Access) -> JSONValue {
    switch self {
    case .unknown(let why): return .object(JSONObject([("problem", .string(why))]))
    case .preview(let preview):
      var members: [(String, JSONValue)] = [("locale", .string(preview.locale))]
      for message in preview.messages {
        let own = Self.members(of: message, access)
        if message.platform == .apns {
          members += own
        } else {
          members.append((message.platform.name, .object(JSONObject(own))))
        }
      }
      for each in preview.oversized {
        let problem = JSONObject([("problem", .string(each.problem))])
        members.append((each.platform.name, .object(problem)))
      }
      return .object(JSONObject(members))
    }
  }

  private static func members(
    of message: RenderPreview.Message, _ access: Trace.Access
  ) -> [(String, JSONValue)] {
    var members: [(String, JSONValue)] = [
      ("bytes", .integer(Int64(message.byteCount))), ("shortened", .bool(message.isShortened)),
    ]
    if access.showsPayload {
      let payload = try? JSONValue.parse(Array(message.payload.utf8))
      members.append(("payload", payload ?? .string(message.payload)))
    }
    return members
  }
}
