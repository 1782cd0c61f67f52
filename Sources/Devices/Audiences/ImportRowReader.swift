import JSON
import Keyspace
import Model
import Subscriptions
import Text

/// Reads rows strictly: a member that nobody knows is a mistake, not something to pass over.
package struct ImportRowReader {
  /// For devices that do not name their app.
  package let defaultTopic: String?
  /// For devices that do not say when they were bound, ms since 1970.
  package let now: Int64
  private let rules: SubscriptionRules

  /// - Parameter rules: which browsers' subscriptions are taken.
  package init(
    defaultTopic: String?, now: Int64, rules: SubscriptionRules = SubscriptionRules()
  ) {
    self.defaultTopic = defaultTopic
    self.now = now
    self.rules = rules
  }

  package func read(_ line: [UInt8]) throws(ImportRow.Refusal) -> ImportRow {
    let value: JSONValue
    do {
      value = try JSONValue.parse(
        line, maximumBytes: ImportRow.maximumBytes, maximumDepth: 8,
        maximumValues: ImportRow.maximumValues)
    } catch {
      throw ImportRow.Refusal("column \(error.column): \(error.message)")
    }
    guard let object = value.object else {
      throw ImportRow.Refusal("a row is a JSON object, not \(value.kindName)")
    }
    try refuseUnknown(
      object, known: ["user", "follows", "tags", "profile", "devices"], in: "a row")
    guard let user = object["user"]?.string else {
      throw ImportRow.Refusal(#""user" is needed, a string"#)
    }
    var bindings: [Int64: [Binding]] = [:]
    for (index, device) in try list(object, "devices", AudienceRow.maximumBindings).enumerated() {
      let (binding, time) = try self.device(device, "devices[\(index)]")
      bindings[time ?? now, default: []].append(binding)
    }
    var rows = [AudienceRow(user: user, profile: try profile(object), bindings: [], boundAt: now)]
    for (time, bindings) in bindings.sorted(by: { $0.key < $1.key }) {
      rows.append(
        AudienceRow(
          user: user, profile: [], bindings: bindings, boundAt: time, isBelated: time < now))
    }
    for row in rows {
      if let problem = row.problem { throw ImportRow.Refusal(problem) }
    }
    return ImportRow(
      user: user, rows: rows, follows: try follows(object), tags: try tags(object))
  }

  private func tags(_ object: JSONObject) throws(ImportRow.Refusal) -> [String] {
    var tags: [String] = []
    for (index, value) in try list(object, "tags", ImportRow.maximumFollows).enumerated() {
      guard let tag = value.string, Keyspace.isTag(tag) else {
        throw ImportRow.Refusal("tags[\(index)] is \(Keyspace.tagRule)")
      }
      tags.append(tag)
    }
    return tags
  }

  private func follows(_ object: JSONObject) throws(ImportRow.Refusal) -> [String] {
    var follows: [String] = []
    for (index, value) in try list(object, "follows", ImportRow.maximumFollows).enumerated() {
      guard let streamer = value.string else {
        throw ImportRow.Refusal("follows[\(index)] is a string, not \(value.kindName)")
      }
      if let problem = AudienceFollows.problem(streamer: streamer) {
        throw ImportRow.Refusal("follows[\(index)]: \(problem)")
      }
      follows.append(streamer)
    }
    return follows
  }

  private func device(
    _ value: JSONValue, _ place: String
  ) throws(ImportRow.Refusal) -> (Binding, Int64?) {
    guard let object = value.object else {
      throw ImportRow.Refusal("\(place) is an object, not \(value.kindName)")
    }
    let environment = try destination(object, place)
    let own =
      environment == .webpush
      ? ["endpoint", "keys", "vapid_key"] : ["token", "environment"]
    try refuseUnknown(
      object, known: ["platform", "topic", "bound_at"] + own, in: place)
    guard let topic = object["topic"].map({ $0.string ?? "" }) ?? defaultTopic else {
      throw ImportRow.Refusal(
        "\(place).topic is needed (the bundle id, and the push type's suffix), or --app")
    }
    guard Binding.isTopic(topic) else {
      throw ImportRow.Refusal(
        "\(place).topic is a bundle id and perhaps a suffix: letters, digits, '.' and '-'")
    }
    return (
      environment == .webpush
        ? try subscription(object, topic, place) : try binding(object, topic, environment, place),
      try object["bound_at"].map { (value) throws(ImportRow.Refusal) in
        try time(value, "\(place).bound_at")
      }
    )
  }

  private func destination(
    _ object: JSONObject, _ place: String
  ) throws(ImportRow.Refusal) -> Destination {
    let platform = object["platform"].map { $0.string ?? "" } ?? Platform.apns.name
    guard let first = Destination.all.first(where: { $0.platform.name == platform }) else {
      throw ImportRow.Refusal(#"\#(place).platform is "apns", "fcm" or "webpush""#)
    }
    guard let given = object["environment"] else { return first }
    guard first.platform == .apns else {
      throw ImportRow.Refusal("\(place).environment is for platform apns only")
    }
    guard let known = given.string.flatMap({ Destination(named: $0) }), known.platform == .apns
    else { throw ImportRow.Refusal(#"\#(place).environment is "production" or "sandbox""#) }
    return known
  }

  /// A token as phones print it. Never with the token in a refusal, which is told: so without the
  /// hint.
  private func binding(
    _ object: JSONObject, _ topic: String, _ environment: Destination, _ place: String
  ) throws(ImportRow.Refusal) -> Binding {
    guard let token = object["token"]?.string else {
      throw ImportRow.Refusal("\(place).token is needed, a string")
    }
    do throws(GivenRefusal) {
      return try Given.binding(
        token: token, topic: topic, environment: environment, tokenName: "\(place).token",
        topicName: "\(place).topic")
    } catch {
      throw ImportRow.Refusal("\(error.name) must be \(error.rule)")
    }
  }

  /// As the browser writes its subscription, and the VAPID key pair that it was made with.
  private func subscription(
    _ object: JSONObject, _ topic: String, _ place: String
  ) throws(ImportRow.Refusal) -> Binding {
    guard let endpoint = object["endpoint"]?.string, let keys = object["keys"]?.object,
      let p256dh = keys["p256dh"]?.string, let auth = keys["auth"]?.string
    else {
      throw ImportRow.Refusal(
        #"\#(place) needs "endpoint" and "keys": {"p256dh": …, "auth": …}"#)
    }
    try refuseUnknown(keys, known: ["p256dh", "auth"], in: "\(place).keys")
    do throws(BrowserSubscription.Problem) {
      return try BrowserSubscription(
        topic: topic, endpoint: endpoint, p256dh: p256dh, auth: auth,
        keyID: object["vapid_key"].map { $0.string ?? "" }, rules: rules
      ).binding
    } catch {
      throw ImportRow.Refusal("\(place): \(error)")
    }
  }

  /// Milliseconds since 1970, or RFC 3339.
  private func time(_ value: JSONValue, _ place: String) throws(ImportRow.Refusal) -> Int64 {
    guard let time = value.integer ?? value.string.flatMap({ Timestamp.milliseconds($0) }) else {
      throw ImportRow.Refusal("\(place) is milliseconds since 1970, or like 2026-11-21T08:00:00Z")
    }
    do throws(GivenRefusal) {
      return try Given.boundAt(time, as: place, now: now)
    } catch {
      throw ImportRow.Refusal("\(error.name) must be \(error.rule)")
    }
  }

  private func profile(
    _ object: JSONObject
  ) throws(ImportRow.Refusal) -> [(name: String, value: String)] {
    guard let value = object["profile"], !value.isNull else { return [] }
    guard let members = value.object?.members else {
      throw ImportRow.Refusal("profile is an object, not \(value.kindName)")
    }
    guard members.count <= AudienceRow.maximumFields else {
      throw ImportRow.Refusal(
        "has \(members.count) profile fields, at most \(AudienceRow.maximumFields) are taken")
    }
    var fields: [(name: String, value: String)] = []
    for member in members {
      switch member.value {
      case .string(let text): fields.append((member.name, text))
      // Expand looks for "1".
      case .bool(let flag) where member.name == "muted":
        fields.append((member.name, flag ? "1" : "0"))
      case .bool, .integer, .double: fields.append((member.name, JSONText.compact(member.value)))
      case .null: continue
      case .array(let streamers) where member.name == ProfilePatch.mutedStreamers:
        fields.append((member.name, try self.streamers(streamers)))
      case .array, .object:
        throw ImportRow.Refusal(
          "profile.\(ShortText.of(member.name)) is a string, a number or a boolean, not "
            + member.value.kindName)
      }
    }
    // A value is checked as in every other way to write a profile. An empty one is no value there,
    // and an import takes no fields out.
    do throws(GivenRefusal) {
      return try ProfilePatch(fields.map { ($0.name, $0.value) }).fields.members
        .filter { !$0.value.isEmpty }.map { ($0.name, $0.value) }
    } catch {
      throw ImportRow.Refusal("profile: \(error.name) must be \(error.rule)\(error.hint)")
    }
  }

  private func streamers(_ list: [JSONValue]) throws(ImportRow.Refusal) -> String {
    var names: [String] = []
    for value in list {
      guard let name = value.string else {
        throw ImportRow.Refusal("profile.muted_streamers holds strings, not \(value.kindName)")
      }
      names.append(name)
    }
    do throws(GivenRefusal) {
      return try ProfilePatch.text(ofMuted: names)
    } catch {
      throw ImportRow.Refusal("profile: \(error.name) must be \(error.rule)\(error.hint)")
    }
  }

  private func list(
    _ object: JSONObject, _ name: String, _ maximum: Int
  ) throws(ImportRow.Refusal) -> [JSONValue] {
    guard let value = object[name], !value.isNull else { return [] }
    guard let list = value.array else {
      throw ImportRow.Refusal("\(name) is a list, not \(value.kindName)")
    }
    guard list.count <= maximum else {
      throw ImportRow.Refusal("\(name) has \(list.count) elements, at most \(maximum) are taken")
    }
    return list
  }

  private func refuseUnknown(
    _ object: JSONObject, known: [String], in place: String
  ) throws(ImportRow.Refusal) {
    for member in object.members where !known.contains(member.name) {
      let name = JSONString.quoted(ShortText.of(member.name))
      throw ImportRow.Refusal(
        "\(place) has no member \(name): it has \(known.joined(separator: ", "))")
    }
  }
}
