import JSON

/// Apple's rules for broadcast channels ("Sending channel management requests to APNs", "Sending
/// broadcast push notification requests to APNs"): pure, over the request and the channels.
///
/// An app whose last part is the name of one of Apple's reasons gets that answer to everything,
/// `com.example.FeatureNotEnabled` for one: some depend on what only Apple knows.
///
/// Apple's pages write the push type `LiveActivity` for channels and `liveactivity` for
/// broadcasts, and their samples mix them: either is taken here.
enum ChannelRules {
  static let maximumPayloadBytes = 5_120
  private static let maximumExpirationSeconds: Int64 = 30 * 24 * 3_600

  /// Where a request leads; `nil`: nowhere.
  private enum Place {
    case channels(app: String)
    case allChannels(app: String)
    case broadcasts(app: String)

    var app: String {
      switch self {
      case .channels(let app), .allChannels(let app), .broadcasts(let app): app
      }
    }

    init?(_ path: Substring) {
      let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
      let names = Array(parts)
      guard names.count == 4, !names.contains("") else { return nil }
      switch (names[0], names[1], names[3]) {
      case ("1", "apps", "channels"): self = .channels(app: String(names[2]))
      case ("1", "apps", "all-channels"): self = .allChannels(app: String(names[2]))
      case ("4", "broadcasts", let app) where names[2] == "apps":
        self = .broadcasts(app: String(app))
      default: return nil
      }
    }
  }

  /// - Parameters:
  ///   - credentialFault: what is wrong with who asks.
  ///   - makeIdentifier: a UUID.
  static func answer(
    _ request: ChannelRequest, _ channels: inout BroadcastChannels,
    credentialFault: BroadcastReason?,
    isTopicAllowed: (String) -> Bool, nowSeconds: Int64, makeIdentifier: () -> String
  ) -> ChannelAnswer {
    var answer = judge(
      request, &channels, credentialFault: credentialFault, isTopicAllowed: isTopicAllowed,
      nowSeconds: nowSeconds, makeIdentifier: makeIdentifier)
    let given = request.fields["apns-request-id"].flatMap { isIdentifier($0) ? $0 : nil }
    answer.fields.append(("apns-request-id", given ?? makeIdentifier()))
    return answer
  }

  private static func judge(
    _ request: ChannelRequest, _ channels: inout BroadcastChannels,
    credentialFault: BroadcastReason?,
    isTopicAllowed: (String) -> Bool, nowSeconds: Int64, makeIdentifier: () -> String
  ) -> ChannelAnswer {
    let sides = request.path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard let place = Place(sides[0]) else { return .refuse(.badPath) }
    guard methods(place).contains(request.method) else { return .refuse(.methodNotAllowed) }
    if let credentialFault { return .refuse(credentialFault) }
    if let wanted = place.app.split(separator: ".").last,
      let reason = BroadcastReason(rawValue: String(wanted))
    {
      return .refuse(reason)
    }
    guard sides.count == 1 else { return .refuse(.badRequestParams) }
    if hasSuffix(place.app) { return .refuse(.topicDisallowed) }
    guard isTopicAllowed(place.app) else { return .refuse(.topicMismatch) }
    if let id = request.fields["apns-request-id"], !isIdentifier(id) {
      return .refuse(.badMessageId)
    }
    switch place {
    case .allChannels(let app):
      let list = channels.identifiers(of: app).map { JSONValue.string($0) }
      return ChannelAnswer(
        status: 200,
        body: JSONText.compact(.object(JSONObject([("channels", .array(list))]))))
    case .channels(let app) where request.method == "POST":
      return create(request, app, &channels, makeIdentifier)
    case .channels(let app), .broadcasts(let app):
      return known(request, place, app, &channels, nowSeconds)
    }
  }

  private static func methods(_ place: Place) -> [String] {
    switch place {
    case .channels: ["POST", "GET", "DELETE"]
    case .allChannels: ["GET"]
    case .broadcasts: ["POST"]
    }
  }

  private static func create(
    _ request: ChannelRequest, _ app: String, _ channels: inout BroadcastChannels,
    _ makeIdentifier: () -> String
  ) -> ChannelAnswer {
    guard !request.body.isEmpty else { return .refuse(.payloadEmpty) }
    guard let object = (try? JSONValue.parse(request.body, maximumDepth: 4))?.object else {
      return .refuse(.badRequestPayload)
    }
    guard let type = object["push-type"] else { return .refuse(.missingPushType) }
    guard isLiveActivity(type.string ?? "") else { return .refuse(.invalidPushType) }
    guard let number = object["message-storage-policy"]?.integer,
      let policy = BroadcastChannels.Policy(rawValue: Int(number))
    else { return .refuse(.badRequestPayload) }
    guard let id = channels.create(app, policy, seed: makeIdentifier()) else {
      return .refuse(.cannotCreateChannelConfig)
    }
    return ChannelAnswer(status: 201, fields: [("apns-channel-id", id)])
  }

  /// Of a channel that there must be.
  private static func known(
    _ request: ChannelRequest, _ place: Place, _ app: String, _ channels: inout BroadcastChannels,
    _ nowSeconds: Int64
  ) -> ChannelAnswer {
    guard let id = request.fields["apns-channel-id"] else { return .refuse(.missingChannelId) }
    guard BroadcastChannels.isIdentifier(id) else { return .refuse(.badChannelId) }
    guard let policy = channels.policy(of: id, app) else { return .refuse(.channelNotRegistered) }
    if case .broadcasts = place {
      if let reason = broadcast(request, policy, nowSeconds) { return .refuse(reason) }
      return ChannelAnswer(status: 200)
    }
    if request.method == "DELETE" {
      channels.delete(id, app)
      return ChannelAnswer(status: 204)
    }
    return ChannelAnswer(
      status: 200,
      body: #"{"message-storage-policy":\#(policy.rawValue),"push-type":"LiveActivity"}"#)
  }

  private static func broadcast(
    _ request: ChannelRequest, _ policy: BroadcastChannels.Policy, _ nowSeconds: Int64
  ) -> BroadcastReason? {
    guard let type = request.fields["apns-push-type"] else { return .missingPushType }
    guard isLiveActivity(type) else { return .invalidPushType }
    // A channel without storage keeps nothing, so nothing of it can expire later.
    guard let text = request.fields["apns-expiration"], let time = Int64(text), time >= 0,
      time <= nowSeconds + maximumExpirationSeconds, policy == .storesLast || time == 0
    else { return .badExpirationDate }
    if let priority = request.fields["apns-priority"], !["10", "5", "1"].contains(priority) {
      return .badPriority
    }
    guard request.body.count <= maximumPayloadBytes else { return .payloadTooLarge }
    let isObject = request.body.withUnsafeBytes { PayloadScan.isObject($0) }
    return isObject ? nil : .payloadEmpty
  }

  private static func isLiveActivity(_ type: String) -> Bool { type.lowercased() == "liveactivity" }

  private static func hasSuffix(_ app: String) -> Bool {
    SimulatedPushType.allCases.contains {
      let suffix = $0.topicSuffix.description
      return !suffix.isEmpty && app.hasSuffix(suffix)
    }
  }

  private static func isIdentifier(_ text: String) -> Bool {
    Array(text.utf8).withUnsafeBytes { RequestRules.isIdentifier($0) }
  }
}

/// The answer to a request about channels.
struct ChannelAnswer: Equatable {
  var status: Int
  var fields: [(name: String, value: String)] = []
  var body = ""

  static func == (one: ChannelAnswer, other: ChannelAnswer) -> Bool {
    one.status == other.status && one.body == other.body
      && one.fields.elementsEqual(other.fields) { $0 == $1 }
  }

  static func refuse(_ reason: BroadcastReason) -> ChannelAnswer {
    ChannelAnswer(status: reason.status, body: #"{"reason":"\#(reason.rawValue)"}"#)
  }
}
