import APNsSimulator
import SingleRequests

/// Apple's rules for broadcast channels and broadcasts, a row for each side of each.
package enum ChannelConformance {
  static let app = "com.example.live"
  private static let uuid = "01234567-89ab-4def-8123-456789abcdef"
  private static let path = "/1/apps/\(app)/channels"
  private static let sending = "/4/broadcasts/apps/\(app)"

  /// Channels that there are.
  package struct Channels: Sendable {
    package let storesNothing: String
    package let storesLast: String
    /// A third, to be deleted.
    package let spare: String

    package init(storesNothing: String, storesLast: String, spare: String) {
      self.storesNothing = storesNothing
      self.storesLast = storesLast
      self.spare = spare
    }
  }

  package static func rows(_ channels: Channels, nowSeconds: Int64) -> [ConformanceRow] {
    managing(channels) + certificates + broadcasts(channels, nowSeconds) + scripted
  }

  private static func create(_ body: String, more: [AppleRequest.Field] = []) -> AppleRequest {
    AppleRequest(path: path, fields: more, body: body)
  }

  private static func ask(
    _ method: String, _ channel: String?, path: String = path
  ) -> AppleRequest {
    AppleRequest(
      method: method, path: path, fields: channel.map { [.init("apns-channel-id", $0)] } ?? [])
  }

  private static func managing(_ channels: Channels) -> [ConformanceRow] {
    let sound = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
    let all = "/1/apps/\(app)/all-channels"
    let suffixed = "/1/apps/\(app).push-type.liveactivity/all-channels"
    return [
      ConformanceRow(
        "a channel is made", create(sound), 201, carries: .field("apns-channel-id", nil)),
      ConformanceRow(
        "apns-request-id comes back", create(sound, more: [.init("apns-request-id", uuid)]), 201,
        carries: .field("apns-request-id", uuid)),
      ConformanceRow("a channel is shown", ask("GET", channels.storesLast), 200),
      ConformanceRow("channels are listed", ask("GET", nil, path: all), 200),
      ConformanceRow("a channel is deleted", ask("DELETE", channels.spare), 204),
      ConformanceRow(
        "a deleted channel is gone", ask("GET", channels.spare), 400, "ChannelNotRegistered"),
      ConformanceRow("a channel has a body", create(""), 400, "PayloadEmpty"),
      ConformanceRow("its body is JSON", create("{"), 400, "BadRequestPayload"),
      ConformanceRow(
        "it has a push type", create(#"{"message-storage-policy":1}"#), 400, "MissingPushType"),
      ConformanceRow(
        "its push type is LiveActivity",
        create(#"{"message-storage-policy":1,"push-type":"alert"}"#), 400, "InvalidPushType"),
      ConformanceRow(
        "its storage policy is 0 or 1",
        create(#"{"message-storage-policy":2,"push-type":"LiveActivity"}"#), 400,
        "BadRequestPayload"),
      ConformanceRow("a channel is named", ask("GET", nil), 400, "MissingChannelId"),
      ConformanceRow("its id is one", ask("GET", "no id!"), 400, "BadChannelId"),
      ConformanceRow(
        "apns-request-id is a UUID", create(sound, more: [.init("apns-request-id", "7")]), 400,
        "BadMessageId"),
      ConformanceRow(
        "the path has no parameters", ask("GET", nil, path: all + "?a=b"), 400, "BadRequestParams"),
      ConformanceRow(
        "an app has no suffix", ask("GET", nil, path: suffixed), 400, "TopicDisallowed"),
      ConformanceRow("the path is one", ask("GET", nil, path: "/1/apps/\(app)"), 404, "BadPath"),
      ConformanceRow(
        "the method fits the path", ask("DELETE", nil, path: all), 405, "MethodNotAllowed"),
      ConformanceRow(
        "a provider token is needed", create(sound), 403, "MissingProviderToken",
        credential: .absent),
      ConformanceRow(
        "it is no older than an hour", create(sound), 403, "ExpiredProviderToken",
        credential: .expired),
      ConformanceRow(
        "its team owns the key", create(sound), 403, "InvalidProviderToken",
        credential: .otherTeam),
    ]
  }

  private static var certificates: [ConformanceRow] {
    let all = ask("GET", nil, path: "/1/apps/\(app)/all-channels")
    let other = ask("GET", nil, path: "/1/apps/com.example.other/all-channels")
    return [
      ConformanceRow("a certificate stands for the token", all, 200, credential: .certificate),
      ConformanceRow(
        "a certificate is for its topics", other, 403, "TopicMismatch", credential: .certificate),
      ConformanceRow(
        "it is signed by who is known", all, 403, "BadCertificate",
        credential: .strangeCertificate),
      ConformanceRow(
        "it is for the environment", all, 403, "BadCertificateEnvironment",
        credential: .misplacedCertificate),
    ]
  }

  private static func broadcast(
    _ channel: String, _ changes: [String: String?] = [:], body: String = #"{"aps":{}}"#
  ) -> AppleRequest {
    let fields = [
      ("apns-channel-id", channel), ("apns-push-type", "liveactivity"), ("apns-priority", "10"),
      ("apns-expiration", "0"),
    ].compactMap { name, value -> AppleRequest.Field? in
      guard let change = changes[name] else { return AppleRequest.Field(name, value) }
      return change.map { AppleRequest.Field(name, $0) }
    }
    return AppleRequest(path: sending, fields: fields, body: body)
  }

  private static func broadcasts(_ channels: Channels, _ nowSeconds: Int64) -> [ConformanceRow] {
    let (nothing, last) = (channels.storesNothing, channels.storesLast)
    let later = ["apns-expiration": String(nowSeconds + 3_600)]
    return [
      ConformanceRow("a broadcast is accepted", broadcast(nothing), 200),
      ConformanceRow("a channel that stores takes an expiration", broadcast(last, later), 200),
      ConformanceRow(
        "one that stores nothing takes none", broadcast(nothing, later), 400, "BadExpirationDate"),
      ConformanceRow(
        "a broadcast names its channel", broadcast(last, ["apns-channel-id": nil]), 400,
        "MissingChannelId"),
      ConformanceRow(
        "a broadcast's channel is there", broadcast("dHN0LXNyY2gtY2hubA=="), 400,
        "ChannelNotRegistered"),
      ConformanceRow(
        "a broadcast has a push type", broadcast(last, ["apns-push-type": nil]), 400,
        "MissingPushType"),
      ConformanceRow(
        "its push type is liveactivity", broadcast(last, ["apns-push-type": "alert"]), 400,
        "InvalidPushType"),
      ConformanceRow(
        "its priority is 10, 5 or 1", broadcast(last, ["apns-priority": "7"]), 400, "BadPriority"),
      ConformanceRow("a broadcast has a payload", broadcast(last, body: ""), 400, "PayloadEmpty"),
      ConformanceRow(
        "it may have 5,120 bytes", broadcast(last, body: PushConformance.payload(5_120)), 200),
      ConformanceRow(
        "it has 5,120 bytes at most", broadcast(last, body: PushConformance.payload(5_121)), 413,
        "PayloadTooLarge"),
    ]
  }

  /// Reasons that depend on what only Apple knows, or on ten thousand requests: had by the app's
  /// name.
  package static let scriptedReasons: [BroadcastReason] = [
    .featureNotEnabled, .cannotCreateChannelConfig, .tooManyRequests,
    .tooManyProviderTokenUpdates, .internalServerError, .serviceError, .shutdown,
  ]

  private static var scripted: [ConformanceRow] {
    scriptedReasons.map {
      ConformanceRow(
        "by the app's name",
        ask("GET", nil, path: "/1/apps/com.example.\($0.rawValue)/all-channels"),
        $0.status, $0.rawValue)
    }
  }
}
