import APNsSimulator
import SingleRequests
import Text

/// Apple's rules for a push ("Sending notification requests to APNs", "Establishing a token-based
/// connection to APNs"), a row for each side of each.
package enum PushConformance {
  static let topic = "com.example.live"
  private static let uuid = "01234567-89ab-4def-8123-456789abcdef"
  private static let json = #"{"aps":{"alert":"hello"}}"#

  /// A token belongs to one topic, so each topic has a device of its own.
  private static func device(of topic: String) -> String {
    let digits = Hexadecimal.text(topic.utf8)
    return digits + String(repeating: "0", count: max(0, 64 - digits.count))
  }

  /// A sound push, but for what is given.
  private static func push(
    _ changes: [String: String?] = [:], more: [AppleRequest.Field] = [], method: String = "POST",
    path: String? = nil, body: String = json
  ) -> AppleRequest {
    var fields = [
      ("apns-topic", topic), ("apns-push-type", "alert"), ("apns-priority", "10"),
      ("apns-expiration", "0"),
    ].compactMap { name, value -> AppleRequest.Field? in
      guard let change = changes[name] else { return AppleRequest.Field(name, value) }
      return change.map { AppleRequest.Field(name, $0) }
    }
    for (name, value) in changes.sorted(by: { $0.key < $1.key }) {
      guard let value, !fields.contains(where: { $0.name == name }) else { continue }
      fields.append(AppleRequest.Field(name, value))
    }
    let named = fields.first { $0.name == "apns-topic" }?.value
    return AppleRequest(
      method: method, path: path ?? "/3/device/" + device(of: named ?? topic),
      fields: fields + more, body: body)
  }

  /// - Parameter nowSeconds: since 1970.
  package static func rows(nowSeconds: Int64) -> [ConformanceRow] {
    paths + credentials + certificates + topics + identifiers(nowSeconds) + payloads + scripted
  }

  private static var paths: [ConformanceRow] {
    [
      ConformanceRow("a sound push is accepted", push(), 200),
      ConformanceRow("the method is POST", push(method: "GET"), 405, "MethodNotAllowed"),
      ConformanceRow(
        "the path is /3/device/", push(path: "/2/device/" + device(of: topic)), 404, "BadPath"),
      ConformanceRow(
        "the path names a device", push(path: "/3/device/"), 400, "MissingDeviceToken"),
      ConformanceRow(
        "a token is hex", push(path: "/3/device/" + String(repeating: "xy", count: 32)), 400,
        "BadDeviceToken"),
      ConformanceRow(
        "a token belongs to one topic",
        push(
          ["apns-topic": topic + ".voip", "apns-push-type": "voip"],
          path: "/3/device/" + device(of: topic)), 400, "DeviceTokenNotForTopic"),
      ConformanceRow(
        "a token may be longer than 32 bytes",
        push(path: "/3/device/" + String(repeating: "0a", count: 100)), 200),
      ConformanceRow(
        "no header comes twice", push(more: [.init("apns-topic", topic)]), 400, "DuplicateHeaders"),
    ]
  }

  private static var credentials: [ConformanceRow] {
    [
      ConformanceRow(
        "a provider token is needed", push(), 403, "MissingProviderToken", credential: .absent),
      ConformanceRow(
        "it comes as bearer", push(), 403, "MissingProviderToken", credential: .notBearer),
      ConformanceRow(
        "it is a JSON web token", push(), 403, "InvalidProviderToken", credential: .malformed),
      ConformanceRow(
        "it is no older than an hour", push(), 403, "ExpiredProviderToken", credential: .expired),
      ConformanceRow(
        "it is not of the future", push(), 403, "InvalidProviderToken", credential: .early),
      ConformanceRow(
        "its team owns the key", push(), 403, "InvalidProviderToken", credential: .otherTeam),
      ConformanceRow(
        "it is signed by the key", push(), 403, "InvalidProviderToken", credential: .otherKey),
    ]
  }

  /// "Establishing a certificate-based connection to APNs".
  private static var certificates: [ConformanceRow] {
    let voip = ["apns-topic": topic + ".voip", "apns-push-type": "voip"]
    return [
      ConformanceRow("a certificate stands for the token", push(), 200, credential: .certificate),
      ConformanceRow(
        "one for a single topic needs none", push(["apns-topic": nil]), 200,
        credential: .certificate),
      ConformanceRow(
        "a certificate is for its topics", push(voip), 400, "TopicDisallowed",
        credential: .certificate),
      ConformanceRow(
        "it is signed by who is known", push(), 403, "BadCertificate",
        credential: .strangeCertificate),
      ConformanceRow(
        "it is for the environment", push(), 403, "BadCertificateEnvironment",
        credential: .misplacedCertificate),
    ]
  }

  private static var topics: [ConformanceRow] {
    var rows = [
      ConformanceRow("a topic is needed", push(["apns-topic": nil]), 400, "MissingTopic"),
      ConformanceRow("the topic is well-formed", push(["apns-topic": "a b"]), 400, "BadTopic"),
      ConformanceRow("the push type may be left out", push(["apns-push-type": nil]), 200),
      ConformanceRow(
        "the push type is one of Apple's", push(["apns-push-type": "loud"]), 400,
        "InvalidPushType"),
    ]
    // By Apple's table, written out: the simulator's own is what is judged.
    let suffixes = [
      ("complication", ".complication"), ("controls", ".push-type.controls"),
      ("fileprovider", ".pushkit.fileprovider"), ("liveactivity", ".push-type.liveactivity"),
      ("location", ".location-query"), ("pushtotalk", ".voip-ptt"), ("voip", ".voip"),
      ("widgets", ".push-type.widgets"),
    ]
    for (type, suffix) in suffixes {
      rows.append(
        ConformanceRow(
          "\(type) pushes have the suffix \(suffix)",
          push(["apns-push-type": type, "apns-topic": topic + suffix]), 200))
      rows.append(
        ConformanceRow(
          "\(type) pushes have no other topic", push(["apns-push-type": type]), 400,
          "TopicDisallowed"))
    }
    for type in ["background", "mdm"] {
      rows.append(
        ConformanceRow(
          "\(type) pushes have no suffix",
          push(["apns-push-type": type, "apns-priority": "5"]), 200))
    }
    return rows
  }

  private static func identifiers(_ nowSeconds: Int64) -> [ConformanceRow] {
    let far = String(nowSeconds + 31 * 86_400)
    return [
      ConformanceRow("apns-id is a UUID", push(["apns-id": "7"]), 400, "BadMessageId"),
      ConformanceRow(
        "apns-id comes back", push(["apns-id": uuid]), 200, carries: .field("apns-id", uuid)),
      ConformanceRow("one is made if none came", push(), 200, carries: .field("apns-id", nil)),
      ConformanceRow(
        "a refusal says its apns-id", push(["apns-id": uuid, "apns-priority": "7"]), 400,
        "BadPriority", carries: .field("apns-id", uuid)),
      ConformanceRow(
        "apns-expiration is a number", push(["apns-expiration": "soon"]), 400, "BadExpirationDate"),
      ConformanceRow(
        "apns-expiration is within 30 days", push(["apns-expiration": far]), 400,
        "BadExpirationDate"),
      ConformanceRow(
        "apns-expiration may be within 30 days",
        push(["apns-expiration": String(nowSeconds + 3_600)]), 200),
      ConformanceRow(
        "apns-priority is 10, 5 or 1", push(["apns-priority": "7"]), 400, "BadPriority"),
      ConformanceRow("apns-priority may be 5", push(["apns-priority": "5"]), 200),
      ConformanceRow("apns-priority may be 1", push(["apns-priority": "1"]), 200),
      ConformanceRow(
        "a background push is not of priority 10", push(["apns-push-type": "background"]), 400,
        "BadPriority"),
      ConformanceRow(
        "apns-collapse-id has 64 bytes at most",
        push(["apns-collapse-id": String(repeating: "c", count: 65)]), 400, "BadCollapseId"),
      ConformanceRow(
        "apns-collapse-id may have 64 bytes",
        push(["apns-collapse-id": String(repeating: "c", count: 64)]), 200),
    ]
  }

  /// A payload of so many bytes.
  static func payload(_ count: Int) -> String {
    let frame = #"{"aps":{"alert":""}}"#.utf8.count
    return #"{"aps":{"alert":""# + String(repeating: "x", count: count - frame) + #""}}"#
  }

  private static var payloads: [ConformanceRow] {
    let voip = ["apns-push-type": "voip", "apns-topic": topic + ".voip"]
    return [
      ConformanceRow("there is a payload", push(body: ""), 400, "PayloadEmpty"),
      ConformanceRow("a payload is a JSON object", push(body: "[]"), 400, "PayloadEmpty"),
      ConformanceRow("a payload may have 4,096 bytes", push(body: payload(4_096)), 200),
      ConformanceRow(
        "a payload has 4,096 bytes at most", push(body: payload(4_097)), 413, "PayloadTooLarge"),
      ConformanceRow("a voip payload may have 5,120 bytes", push(voip, body: payload(5_120)), 200),
      ConformanceRow(
        "a voip payload has 5,120 bytes at most", push(voip, body: payload(5_121)), 413,
        "PayloadTooLarge"),
    ]
  }

  // MARK: what no request provokes

  /// Those that depend on what only Apple knows (its load, a device's past): had by a script.
  package static let scriptedReasons: [AppleReason] = [
    .idleTimeout, .forbidden, .unrelatedKeyIdInToken, .badEnvironmentKeyIdInToken, .expiredToken,
    .unregistered, .tooManyProviderTokenUpdates, .tooManyRequests, .internalServerError,
    .serviceUnavailable, .shutdown,
  ]

  private static func scriptedDevice(_ place: Int) -> String {
    "5c" + Hexadecimal.text(place, digits: 2) + String(repeating: "0", count: 60)
  }

  package static var script: SimulatorScript {
    var script = SimulatorScript()
    script.rules = scriptedReasons.enumerated().map { place, reason in
      .init(
        tokens: [scriptedDevice(place)], steps: [.init(.refuse(Refusal(reason)))])
    }
    return script
  }

  private static var scripted: [ConformanceRow] {
    scriptedReasons.enumerated().map { place, reason in
      ConformanceRow(
        "by script", push(path: "/3/device/" + scriptedDevice(place)), reason.status,
        reason.rawValue, carries: reason.status == 410 ? .timestamp : .nothing)
    }
  }
}
