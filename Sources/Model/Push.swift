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
