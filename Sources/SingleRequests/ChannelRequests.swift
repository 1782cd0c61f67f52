/// Requests about the broadcast channels of an app ("Sending channel management requests to APNs",
/// "Sending broadcast push notification requests to APNs"). Apple writes the push type as
/// `LiveActivity` where a channel is made and as `liveactivity` where it is sent to.
package enum ChannelRequests {
  /// Fixed when the channel is made.
  package enum Storage: String, CaseIterable, Sendable {
    /// A device that is not connected misses the message. The higher publishing budget.
    case none
    /// Apple keeps the last message for at most eight hours.
    case last

    var policy: Int { self == .none ? 0 : 1 }
  }

  package static let maximumPayloadBytes = 5_120
  /// 10,000 channels and what stands between them.
  private static let maximumListBytes = 1 << 20

  package static func create(app: String, _ storage: Storage) -> AppleRequest {
    AppleRequest(
      path: channels(app), fields: [.init("content-type", "application/json")],
      body: #"{"message-storage-policy":\#(storage.policy),"push-type":"LiveActivity"}"#)
  }

  package static func show(app: String, channel: String) -> AppleRequest {
    AppleRequest(method: "GET", path: channels(app), fields: [.init(channelField, channel)])
  }

  package static func delete(app: String, channel: String) -> AppleRequest {
    AppleRequest(method: "DELETE", path: channels(app), fields: [.init(channelField, channel)])
  }

  package static func list(app: String) -> AppleRequest {
    AppleRequest(
      method: "GET", path: "/1/apps/\(app)/\(all)", fields: [],
      maximumAnswerBytes: maximumListBytes)
  }

  /// Whether a request asks for all channels of an app.
  static func isList(_ request: AppleRequest) -> Bool {
    request.method == "GET" && request.path.hasSuffix("/" + all)
  }

  private static let all = "all-channels"

  /// - Parameter expiration: seconds since 1970; 0 for a channel that stores nothing.
  package static func send(
    app: String, channel: String, payload: String, priority: Int, expiration: Int64
  ) -> AppleRequest {
    AppleRequest(
      path: "/4/broadcasts/apps/\(app)",
      fields: [
        .init(channelField, channel), .init("apns-push-type", "liveactivity"),
        .init("apns-priority", String(priority)), .init("apns-expiration", String(expiration)),
      ], body: payload)
  }

  /// The rule of Apple's that a broadcast's payload breaks, if any.
  package static func flaw(ofPayload payload: String) -> String? {
    PayloadFlaw.of(payload, limit: maximumPayloadBytes, "broadcasts")
  }

  private static let channelField = "apns-channel-id"

  private static func channels(_ app: String) -> String { "/1/apps/\(app)/channels" }
}
