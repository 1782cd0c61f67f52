/// Apple's push types with the suffix that each asks of the topic ("Sending notification requests
/// to APNs").
package enum PushType: String, Sendable, CaseIterable {
  case alert, background, complication, controls, fileprovider, liveactivity, location, mdm
  case pushtotalk, voip, widgets

  package var topicSuffix: String {
    switch self {
    case .alert, .background, .mdm: ""
    case .complication: ".complication"
    case .controls: ".push-type.controls"
    case .fileprovider: ".pushkit.fileprovider"
    case .liveactivity: ".push-type.liveactivity"
    case .location: ".location-query"
    case .pushtotalk: ".voip-ptt"
    case .voip: ".voip"
    case .widgets: ".push-type.widgets"
    }
  }

  /// Bytes of body that Apple takes.
  package var maximumPayloadBytes: Int { self == .voip ? 5120 : 4096 }
}

/// The headers that all pushes of one fan-out share.
package struct PushHeaders: Sendable, Equatable {
  package let pushType: PushType
  /// 10, 5 or 1.
  package let priority: Int
  /// Bundle id and the push type's suffix.
  package let topic: String
  /// At most 64 bytes, no control characters; nil: each push stands for itself.
  package let collapseID: String?
  /// Value of `apns-expiration`: seconds since 1970, or 0 for one attempt that Apple does not
  /// store.
  package let expiration: Int64
  /// Ms since 1970; at or after it nothing is sent.
  package let expiresAt: Int64

  package init(
    pushType: PushType, priority: Int, topic: String, collapseID: String?, expiration: Int64,
    expiresAt: Int64
  ) {
    self.pushType = pushType
    self.priority = priority
    self.topic = topic
    self.collapseID = collapseID
    self.expiration = expiration
    self.expiresAt = expiresAt
  }
}
