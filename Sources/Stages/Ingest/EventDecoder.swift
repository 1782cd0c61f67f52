import JSON
import Keyspace
import Model
import Text

/// From a parsed document to a validated event. `Config/event.schema.json` says the same in JSON
/// Schema; what it cannot say (bytes instead of characters, the total of values, what an id may end
/// in, the clock) stands in its descriptions.
struct EventDecoder {
  let options: IngestOptions
  var origin = EventOrigin()

  /// Values that templates may name, `event.id` among them: what one record costs in memory.
  static let maximumFields = 64
  /// UTF-8 bytes of one value: a payload has 4,096 bytes for all of them.
  static let maximumTextBytes = 1024
  static let maximumIDBytes = 64
  static let maximumFieldNameBytes = 64
  static let members: Set<String> = [
    "type", "id", "app", "streamer", "stream", "data", "template", "occurred_at", "expires_in",
    "pushes_per_second", "audience", "send_at",
  ]
  private static let optionalMembers: Set<String> = ["type", "template", "data"]
  static let endType = "stream.ended"
  static let usualType = "stream.live"

  func decode(_ value: JSONValue, document: [UInt8]) throws(IngestError) -> Event {
    guard let object = value.object else {
      throw IngestError(.wrongType, "an event is a JSON object, not \(value.kindName)")
    }
    try refuseUnknown(object)
    if object["type"] != nil, try text(object, "type") != Self.usualType {
      throw IngestError(.badType, "type must be \(Self.usualType) or \(Self.endType)")
    }
    let id = try eventID(object)
    let app = try text(object, "app")
    guard Binding.isTopic(app) else {
      throw IngestError(.badIdentifier, "app must be a bundle id: letters, digits, '.' and '-'")
    }
    let streamer = try group(object, "streamer")
    let streamerID = try identifier(streamer, "streamer.id")
    try check(streamer: streamerID)
    let stream = try group(object, "stream")
    let streamID = try identifier(stream, "stream.id")
    var fields = ["event.id": id]
    try add(streamer, to: &fields, under: "streamer")
    try add(stream, to: &fields, under: "stream")
    if object["data"] != nil { try add(group(object, "data"), to: &fields, under: "data") }
    let occurredAt = try time(object)
    let sendAt = try object["send_at"].map(SendTimeDecoder.decode)
    return Event(
      id: id, app: app, streamer: streamerID, stream: streamID,
      template: try template(object), occurredAt: occurredAt,
      expiresAt: (sendAt?.due.upperBound ?? occurredAt) + (try expirySeconds(object)) * 1000,
      sendAt: sendAt,
      audience: try object["audience"].map(AudienceDecoder.decode) ?? .followers,
      pushesPerSecond: try pushesPerSecond(object), fields: fields, document: document,
      trace: origin.trace(of: id, rootShare: options.rootTraceShare),
      appendedAt: origin.appendedAt)
  }

  /// The end of a stream; nil when the document is of another type. Members of events are looked
  /// at as little as they are needed: a backend may send the same document with another type.
  func decodeEnd(_ value: JSONValue) throws(IngestError) -> StreamEnd? {
    guard let object = value.object, object["type"]?.string == Self.endType else { return nil }
    try refuseUnknown(object)
    let streamer = try identifier(group(object, "streamer"), "streamer.id")
    try check(streamer: streamer)
    return StreamEnd(
      streamer: streamer, stream: try identifier(group(object, "stream"), "stream.id"),
      occurredAt: try time(object))
  }

  private func refuseUnknown(_ object: JSONObject) throws(IngestError) {
    for member in object.members where !Self.members.contains(member.name) {
      let near = Self.plain(member.name)
      let meant = Self.members.first { Self.plain($0) == near }.map { ": it is written \($0)" }
      throw IngestError(
        .unknownField,
        "an event has no member \(Excerpt.quoted(member.name))\(meant ?? "")")
    }
  }

  /// `occurredat` of `occurredAt`, `Occurred-At` and `occurred_at`.
  private static func plain(_ name: String) -> [UInt8] {
    name.utf8.prefix(64).filter { $0 != 0x5F && $0 != 0x2D }.map(\.asciiLowered)
  }

  private func check(streamer: String) throws(IngestError) {
    guard Keyspace.isStreamerIdentifier(streamer) else {
      throw IngestError(.badIdentifier, "streamer.id must not end in :<digits>:<digits>")
    }
  }

  private func eventID(_ object: JSONObject) throws(IngestError) -> String {
    let id = try text(object, "id")
    let isClean = id.utf8.allSatisfy { $0.isASCIIWord || "._:-".utf8.contains($0) }
    guard isClean, (1...Self.maximumIDBytes).contains(id.utf8.count) else {
      throw IngestError(.badIdentifier, "id must be 1 to 64 of the characters A-Z a-z 0-9 . _ : -")
    }
    return id
  }

  private func template(_ object: JSONObject) throws(IngestError) -> String {
    guard object["template"] != nil else { return TemplateName.usual }
    let name = try text(object, "template")
    guard TemplateName.isValid(name) else {
      throw IngestError(
        .badIdentifier, "template must be 1 to 64 of the characters a-z 0-9 and '-'")
    }
    return name
  }

  private func time(_ object: JSONObject) throws(IngestError) -> Int64 {
    let written = try text(object, "occurred_at")
    guard let milliseconds = Timestamp.milliseconds(written) else {
      throw IngestError(
        .badTime,
        "occurred_at must be like 2026-11-21T08:00:00Z (RFC 3339), not \(Excerpt.quoted(written))")
    }
    return milliseconds
  }

  private func expirySeconds(_ object: JSONObject) throws(IngestError) -> Int64 {
    guard let value = object["expires_in"] else { return options.defaultExpirySeconds }
    guard let seconds = value.wholeNumber else {
      throw IngestError(.wrongType, "expires_in is whole seconds, not \(Self.kind(value))")
    }
    guard seconds >= 1, seconds <= options.maximumExpirySeconds else {
      throw IngestError(
        .badExpiry,
        "expires_in must be 1 to \(options.maximumExpirySeconds) seconds, not \(seconds)")
    }
    return seconds
  }

  private func pushesPerSecond(_ object: JSONObject) throws(IngestError) -> Int? {
    guard let value = object["pushes_per_second"] else { return nil }
    guard let pushes = value.wholeNumber else {
      throw IngestError(.wrongType, "pushes_per_second is a whole number, not \(Self.kind(value))")
    }
    guard pushes >= 1, pushes <= Int64(PushRates.maximum) else {
      throw IngestError(
        .badRate, "pushes_per_second must be 1 to \(PushRates.maximum), not \(pushes)")
    }
    return Int(pushes)
  }

  // MARK: members

  private func text(_ object: JSONObject, _ name: String) throws(IngestError) -> String {
    try member(object, name, "a string", \.string)
  }

  private func group(_ object: JSONObject, _ name: String) throws(IngestError) -> JSONObject {
    try member(object, name, "an object", \.object)
  }

  private func member<Member>(
    _ object: JSONObject, _ name: String, _ kind: String, _ read: (JSONValue) -> Member?
  ) throws(IngestError) -> Member {
    guard let value = object[name] else { throw IngestError(.missingField, "\(name) is missing") }
    guard let member = read(value) else {
      let found = Self.optionalMembers.contains(name) ? Self.kind(value) : value.kindName
      throw IngestError(.wrongType, "\(name) is \(kind), not \(found)")
    }
    return member
  }

  /// Of what need not be there.
  private static func kind(_ value: JSONValue) -> String {
    value.isNull ? "null: leave it out" : value.kindName
  }

  private func identifier(_ group: JSONObject, _ path: String) throws(IngestError) -> String {
    guard let value = group["id"] else { throw IngestError(.missingField, "\(path) is missing") }
    guard let id = value.string else {
      throw IngestError(.wrongType, "\(path) is a string, not \(value.kindName)")
    }
    guard Keyspace.isIdentifier(id) else {
      throw IngestError(
        .badIdentifier, "\(path) must be 1 to 128 bytes without control characters and braces")
    }
    return id
  }

  /// The members that templates may name.
  private func add(
    _ group: JSONObject, to fields: inout [String: String], under prefix: String
  ) throws(IngestError) {
    for member in group.members {
      let path = "\(prefix).\(member.name)"
      guard Self.isFieldName(member.name) else {
        throw IngestError(
          .badText, "\(Excerpt.quoted(path)): names have 1 to 64 of the characters A-Z a-z 0-9 _ -")
      }
      fields[path] = try fieldText(member.value, path, mayNest: prefix == "data")
    }
    guard fields.count <= Self.maximumFields else {
      throw IngestError(.tooManyFields, "an event has at most \(Self.maximumFields) values")
    }
  }

  /// - Parameter mayNest: whether an object or a list may stand here, for `{{json data.x}}`.
  private func fieldText(
    _ value: JSONValue, _ path: String, mayNest: Bool
  ) throws(IngestError) -> String {
    let text: String
    switch value {
    case .string(let own): text = own
    case .integer, .double, .bool: return JSONText.compact(value)
    case .array where mayNest, .object where mayNest: text = JSONText.compact(value)
    case .null, .array, .object:
      let kinds =
        mayNest
        ? "a string, a number, a boolean, an object or a list"
        : "a string, a number or a boolean"
      throw IngestError(.wrongType, "\(path) is \(kinds), not \(Self.kind(value))")
    }
    guard text.utf8.count <= Self.maximumTextBytes else {
      throw IngestError(
        .badText, "\(path) has \(text.utf8.count) bytes, \(Self.maximumTextBytes) are allowed")
    }
    return text
  }

  private static func isFieldName(_ name: String) -> Bool {
    (1...maximumFieldNameBytes).contains(name.utf8.count)
      && name.utf8.allSatisfy { $0.isASCIIWord || $0 == 0x5F || $0 == 0x2D }
  }
}

/// From an event's `audience` to whom it addresses.
struct AudienceDecoder {
  private static let forms = "tag, users, followers, and, or, not"

  /// - Parameter value: of the member `audience`.
  static func decode(_ value: JSONValue) throws(IngestError) -> EventAudience {
    let member = try onlyMember(value, at: "audience")
    if member.name == "users" { return .users(try users(member.value)) }
    let expression = try expression(member, at: "audience", groups: 0, isNegated: false)
    if expression == .followers { return .followers }
    guard expression.isEnumerable else {
      throw IngestError(
        .badAudience,
        "audience addresses everybody but some: put each not into an and, beside a tag or followers"
      )
    }
    return .matching(expression)
  }

  /// - Parameters:
  ///   - groups: and and or that stand around it.
  ///   - isNegated: a not stands right before it.
  private static func expression(
    _ member: JSONObject.Member, at path: String, groups: Int, isNegated: Bool
  ) throws(IngestError) -> AudienceExpression {
    let path = "\(path).\(member.name)"
    switch member.name {
    case "followers":
      guard member.value.bool == true else {
        throw IngestError(.badAudience, "\(path) is true, or it is not there")
      }
      return .followers
    case "tag":
      guard let tag = member.value.string else {
        throw IngestError(.wrongType, "\(path) is a string, not \(member.value.kindName)")
      }
      guard Keyspace.isTag(tag) else {
        throw IngestError(.badIdentifier, "\(path) must be \(Keyspace.tagRule)")
      }
      return .tag(tag)
    case "and": return .and(try parts(member.value, at: path, groups: groups))
    case "or": return .or(try parts(member.value, at: path, groups: groups))
    case "not":
      guard !isNegated else {
        throw IngestError(.badAudience, "\(path): a not of a not is what stands in it")
      }
      return .not(
        try expression(
          onlyMember(member.value, at: path), at: path, groups: groups, isNegated: true))
    case "users":
      throw IngestError(.badAudience, "users stand alone in audience, not in an and, or or not")
    default:
      throw IngestError(
        .unknownField, "audience has no \(Excerpt.quoted(member.name)): it is one of \(forms)")
    }
  }

  private static func parts(
    _ value: JSONValue, at path: String, groups: Int
  ) throws(IngestError) -> [AudienceExpression] {
    guard let items = value.array else {
      throw IngestError(.wrongType, "\(path) is an array, not \(value.kindName)")
    }
    guard groups < 2 else {
      throw IngestError(.badAudience, "\(path) stands in two others: one is the most")
    }
    let limits = AudienceExpression.maximumParts
    let limit = groups == 0 ? limits.outer : limits.inner
    guard (1...limit).contains(items.count) else {
      throw IngestError(.badAudience, "\(path) has 1 to \(limit) parts, not \(items.count)")
    }
    var parts: [AudienceExpression] = []
    for item in items {
      parts.append(
        try expression(
          onlyMember(item, at: path), at: path, groups: groups + 1, isNegated: false))
    }
    return parts
  }

  private static func onlyMember(
    _ value: JSONValue, at path: String
  ) throws(IngestError) -> JSONObject.Member {
    guard let object = value.object else {
      throw IngestError(.wrongType, "\(path) is an object, not \(value.kindName)")
    }
    guard object.members.count == 1, let member = object.members.first else {
      throw IngestError(.badAudience, "\(path) is an object with one member: one of \(forms)")
    }
    return member
  }

  /// Each user once, in the order in which they were named.
  private static func users(_ value: JSONValue) throws(IngestError) -> [String] {
    guard let items = value.array else {
      throw IngestError(.wrongType, "audience.users is an array, not \(value.kindName)")
    }
    guard (1...EventAudience.maximumUsers).contains(items.count) else {
      throw IngestError(
        .badAudience,
        "audience.users names 1 to \(EventAudience.maximumUsers) users, not \(items.count)")
    }
    var seen: Set<[UInt8]> = []
    var users: [String] = []
    for (index, item) in items.enumerated() {
      guard let user = item.string else {
        throw IngestError(.wrongType, "audience.users[\(index)] is a string, not \(item.kindName)")
      }
      guard Keyspace.isIdentifier(user) else {
        throw IngestError(
          .badIdentifier,
          "audience.users[\(index)] must be 1 to 128 bytes without control characters and braces")
      }
      if seen.insert(Array(user.utf8)).inserted { users.append(user) }
    }
    return users
  }
}

/// An event as JSON Schema says it: the API's description has it within.
package enum EventSchema {
  /// `Config/event.schema.json`: the file here is a link to it.
  package static let text = String(decoding: PackageResources.event_schema_json, as: UTF8.self)
}
