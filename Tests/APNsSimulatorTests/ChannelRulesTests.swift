import Testing

@testable import APNsSimulator

/// Apple's rules for broadcast channels, each by itself.
@Suite struct ChannelRulesTests {
  private static let now: Int64 = 1_700_000_000
  private static let uuid = "01234567-89ab-4def-8123-456789abcdef"
  private static let path = "/1/apps/com.example.live/channels"
  private static let sending = "/4/broadcasts/apps/com.example.live"

  private static func ask(
    _ request: ChannelRequest, _ channels: inout BroadcastChannels,
    credentialFault: BroadcastReason? = nil
  ) -> ChannelAnswer {
    ChannelRules.answer(
      request, &channels, credentialFault: credentialFault,
      isTopicAllowed: { $0 != "com.example.other" },
      nowSeconds: now, makeIdentifier: { uuid })
  }

  private static func create(_ body: String, path: String = path) -> ChannelRequest {
    ChannelRequest(method: "POST", path: path, body: Array(body.utf8))
  }

  private static func policy(_ number: Int) -> String {
    #"{"message-storage-policy":\#(number),"push-type":"LiveActivity"}"#
  }

  /// A channel of each policy and its id.
  private static func made(
    _ policy: BroadcastChannels.Policy
  ) -> (channels: BroadcastChannels, id: String) {
    var channels = BroadcastChannels()
    let id = channels.create("com.example.live", policy, seed: uuid)
    return (channels, id ?? "")
  }

  private static func expect(
    _ answer: ChannelAnswer, _ reason: BroadcastReason, _ comment: Comment? = nil
  ) {
    #expect(
      answer.status == reason.status && answer.body == #"{"reason":"\#(reason.rawValue)"}"#,
      comment)
  }

  @Test func makesShowsListsAndDeletes() {
    var channels = BroadcastChannels()
    let made = Self.ask(Self.create(Self.policy(1)), &channels)
    #expect(made.status == 201)
    #expect(made.fields.map(\.name) == ["apns-channel-id", "apns-request-id"])
    let id = made.fields[0].value
    var request = ChannelRequest(
      method: "GET", path: Self.path, fields: ["apns-channel-id": id])
    let shown = Self.ask(request, &channels)
    #expect(shown.status == 200)
    #expect(shown.body == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
    let all = ChannelRequest(method: "GET", path: "/1/apps/com.example.live/all-channels")
    #expect(Self.ask(all, &channels).body == #"{"channels":["\#(id)"]}"#)
    request.method = "DELETE"
    #expect(Self.ask(request, &channels).status == 204)
    Self.expect(Self.ask(request, &channels), .channelNotRegistered)
    #expect(Self.ask(all, &channels).body == #"{"channels":[]}"#)
  }

  @Test(
    arguments: [
      ("", .payloadEmpty), ("{", .badRequestPayload), ("[]", .badRequestPayload),
      (#"{"message-storage-policy":1}"#, .missingPushType),
      (#"{"message-storage-policy":1,"push-type":"alert"}"#, .invalidPushType),
      (#"{"push-type":"LiveActivity"}"#, .badRequestPayload),
      (Self.policy(2), .badRequestPayload),
    ] as [(String, BroadcastReason)])
  func refusesABadChannel(_ body: String, _ reason: BroadcastReason) {
    var channels = BroadcastChannels()
    Self.expect(Self.ask(Self.create(body), &channels), reason)
  }

  @Test func takesEitherSpellingOfThePushType() {
    var channels = BroadcastChannels()
    let body = #"{"message-storage-policy":0,"push-type":"liveactivity"}"#
    #expect(Self.ask(Self.create(body), &channels).status == 201)
  }

  @Test func anAppHasTenThousandChannels() {
    var channels = BroadcastChannels()
    for number in 0..<BroadcastChannels.maximumPerApp {
      #expect(channels.create("com.example.live", .storesNothing, seed: "\(number)") != nil)
    }
    Self.expect(Self.ask(Self.create(Self.policy(0)), &channels), .cannotCreateChannelConfig)
    let other = Self.create(Self.policy(0), path: "/1/apps/com.example.second/channels")
    #expect(Self.ask(other, &channels).status == 201)
  }

  @Test func looksAtPathMethodAppAndToken() {
    var channels = BroadcastChannels()
    func get(_ path: String, _ method: String = "GET") -> ChannelAnswer {
      Self.ask(ChannelRequest(method: method, path: path), &channels)
    }
    Self.expect(get("/1/apps/com.example.live"), .badPath)
    Self.expect(get("/1/apps/com.example.live/channels/x"), .badPath)
    Self.expect(get("/1/apps//channels"), .badPath)
    Self.expect(get("/4/broadcasts/com.example.live"), .badPath)
    Self.expect(get("/1/apps/com.example.live/all-channels", "POST"), .methodNotAllowed)
    Self.expect(get(Self.sending), .methodNotAllowed)
    Self.expect(get(Self.path), .missingChannelId)
    Self.expect(get(Self.path + "?a=b"), .badRequestParams)
    Self.expect(
      get("/1/apps/com.example.live.push-type.liveactivity/all-channels"), .topicDisallowed)
    Self.expect(get("/1/apps/com.example.other/all-channels"), .topicMismatch)
    let bad = ["apns-channel-id": "no id!"]
    Self.expect(
      Self.ask(ChannelRequest(method: "GET", path: Self.path, fields: bad), &channels),
      .badChannelId)
    let request = ["apns-request-id": "7"]
    Self.expect(
      Self.ask(ChannelRequest(method: "GET", path: Self.path, fields: request), &channels),
      .badMessageId)
    for fault in [
      BroadcastReason.missingProviderToken, .expiredProviderToken, .invalidProviderToken,
      .tooManyProviderTokenUpdates,
    ] {
      Self.expect(Self.ask(Self.create(Self.policy(0)), &channels, credentialFault: fault), fault)
    }
  }

  /// A body of so many bytes.
  private static func sized(_ count: Int) -> String {
    "{\"a\":\"" + String(repeating: "x", count: count - 8) + "\"}"
  }

  private struct Case {
    let fields: [String: String]
    let body: String
    let reason: BroadcastReason?

    init(_ fields: [String: String], _ reason: BroadcastReason?, body: String = "{}") {
      self.fields = fields
      self.body = body
      self.reason = reason
    }
  }

  private static let cases: [Case] = [
    Case([:], nil), Case(["apns-priority": "7"], .badPriority),
    Case(["apns-push-type": ""], .invalidPushType),
    Case(["apns-push-type": "alert"], .invalidPushType),
    Case(["apns-expiration": "x"], .badExpirationDate),
    Case(["apns-expiration": "-1"], .badExpirationDate),
    Case(["apns-expiration": "1700000060"], nil),
    Case(["apns-expiration": "1800000000"], .badExpirationDate),
    Case([:], .payloadEmpty, body: ""), Case([:], .payloadEmpty, body: "[]"),
    Case([:], nil, body: sized(5_120)), Case([:], .payloadTooLarge, body: sized(5_121)),
  ]

  @Test func looksAtABroadcast() {
    for sample in Self.cases {
      var (channels, id) = Self.made(.storesLast)
      var request = ChannelRequest(
        method: "POST", path: Self.sending, body: Array(sample.body.utf8))
      request.fields = [
        "apns-channel-id": id, "apns-push-type": "liveactivity", "apns-expiration": "0",
      ].merging(sample.fields) { $1 }
      let answer = Self.ask(request, &channels)
      #expect(answer.status == sample.reason?.status ?? 200, "\(sample)")
      if let reason = sample.reason { Self.expect(answer, reason) }
    }
  }

  @Test func aChannelThatStoresNothingTakesNoExpiration() {
    var (channels, id) = Self.made(.storesNothing)
    var request = ChannelRequest(method: "POST", path: Self.sending, body: Array("{}".utf8))
    request.fields = [
      "apns-channel-id": id, "apns-push-type": "LiveActivity", "apns-expiration": "1700000060",
    ]
    Self.expect(Self.ask(request, &channels), .badExpirationDate)
    request.fields["apns-expiration"] = nil
    Self.expect(Self.ask(request, &channels), .badExpirationDate)
    request.fields["apns-expiration"] = "0"
    #expect(Self.ask(request, &channels).status == 200)
    request.fields["apns-push-type"] = nil
    Self.expect(Self.ask(request, &channels), .missingPushType)
  }

  /// What depends on something that only Apple knows is had by the app's name.
  @Test(arguments: BroadcastReason.allCases)
  func anAppChoosesItsAnswer(_ reason: BroadcastReason) {
    var channels = BroadcastChannels()
    let path = "/1/apps/com.example.\(reason.rawValue)/channels"
    Self.expect(Self.ask(Self.create(Self.policy(0), path: path), &channels), reason)
  }
}
