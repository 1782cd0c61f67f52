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
      RejectionReason.allCases.map(\.name) == Self.apple + [
        "Other", "Unrenderable", "NoRoute", "Unanswered", "Unwritable", "ProxyAnswered",
      ])
  }

  @Test func namesAreReadBack() {
    for name in Self.apple { #expect(RejectionReason(name: name).name == name) }
  }

  @Test(arguments: [
    "", "badDeviceToken", "BADDEVICETOKEN", "BadDeviceToken ", "BadDeviceTokens", "Gone",
    "Unrenderable", "NoRoute", "Other", "Unwritable", "ProxyAnswered",
  ])
  func whatAppleDoesNotSayIsOther(name: String) {
    #expect(RejectionReason(name: name) == .other)
  }

  /// The tally counts in an array by raw value.
  @Test func rawValuesAreIndices() {
    #expect(RejectionReason.allCases.map { Int($0.rawValue) } == Array(0..<38))
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
