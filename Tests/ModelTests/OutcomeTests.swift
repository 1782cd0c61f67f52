import Model
import Testing

@Suite struct OutcomeTests {
  /// "Handling notification responses from APNs", in Apple's spelling.
  private static let apple = [
    "BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority",
    "BadTopic", "DeviceTokenNotForTopic", "DuplicateHeaders", "IdleTimeout", "InvalidPushType",
    "MissingDeviceToken", "MissingTopic", "PayloadEmpty", "TopicDisallowed", "BadCertificate",
    "BadCertificateEnvironment", "ExpiredProviderToken", "Forbidden", "InvalidProviderToken",
    "MissingProviderToken", "UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken", "BadPath",
    "MethodNotAllowed", "ExpiredToken", "Unregistered", "PayloadTooLarge",
    "TooManyProviderTokenUpdates", "TooManyRequests", "InternalServerError", "ServiceUnavailable",
    "Shutdown",
  ]

  @Test func namesAreApplesSpelling() {
    #expect(
      RejectionReason.ours.map(\.name) == [
        "Other", "Unrenderable", "NoRoute", "Unanswered", "Unwritable", "ProxyAnswered",
      ])
    #expect(RejectionReason.all(of: .apns).map(\.name) == Self.apple)
    #expect(RejectionReason.ours.first == .other && RejectionReason.ours.last == .proxyAnswered)
    #expect(RejectionReason.unanswered.name == "Unanswered")
  }

  @Test func namesAreReadBack() {
    for name in Self.apple { #expect(RejectionReason(named: name, of: .apns).name == name) }
  }

  @Test(arguments: [
    "", "badDeviceToken", "BADDEVICETOKEN", "BadDeviceToken ", "BadDeviceTokens", "Gone",
    "Unrenderable", "NoRoute", "Other", "Unwritable", "ProxyAnswered",
  ])
  func whatAppleDoesNotSayIsOther(name: String) {
    #expect(RejectionReason(named: name, of: .apns) == .other)
  }

  /// The tally counts in an array.
  @Test func reasonsAreIndices() {
    let all = RejectionReason.all
    #expect(all.map { Int($0.index) } == Array(all.indices) && all.count >= 38)
    #expect(all.prefix(38).allSatisfy { $0.platform == nil || $0.platform == "apns" })
  }

  /// Two platforms may have a reason of one name: each is counted for itself.
  @Test func reasonsAreTheirPlatforms() {
    let toy = Platform(
      name: "reasons", tokens: .opaque(maximumBytes: 8), reasons: ["Unregistered", "Gone"])
    Destination.add(toy)
    Destination.add(toy)
    let reasons = RejectionReason.all(of: toy)
    #expect(reasons.map(\.name) == ["Unregistered", "Gone"])
    #expect(reasons.allSatisfy { $0.platform == "reasons" })
    #expect(RejectionReason(named: "Unregistered", of: toy) == reasons[0])
    #expect(RejectionReason(named: "Unregistered", of: .apns) != reasons[0])
    #expect(RejectionReason(named: "Shutdown", of: toy) == .other)
  }

  @Test func pushTypesAreApples() {
    let suffixes = PushType.allCases.map { "\($0.rawValue) \($0.topicSuffix)" }
    #expect(
      suffixes == [
        "alert ", "background ", "complication .complication", "controls .push-type.controls",
        "fileprovider .pushkit.fileprovider", "liveactivity .push-type.liveactivity",
        "location .location-query", "mdm ", "pushtotalk .voip-ptt", "voip .voip",
        "widgets .push-type.widgets",
      ])
    for type in PushType.allCases {
      #expect(type.maximumPayloadBytes == (type == .voip ? 5120 : 4096))
    }
  }
}

/// Reasons of Apple's, which this room knows by name alone.
extension RejectionReason {
  static let unregistered = RejectionReason(named: "Unregistered", of: .apns)
  static let badDeviceToken = RejectionReason(named: "BadDeviceToken", of: .apns)
}
