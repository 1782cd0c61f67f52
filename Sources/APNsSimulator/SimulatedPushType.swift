/// Apple's push types and the suffix each asks of the topic ("Sending notification requests to
/// APNs").
enum SimulatedPushType: UInt8, CaseIterable {
  case none, alert, background, complication, controls, fileprovider, liveactivity, location, mdm
  case pushtotalk, voip, widgets

  var name: StaticString {
    switch self {
    case .none: ""
    case .alert: "alert"
    case .background: "background"
    case .complication: "complication"
    case .controls: "controls"
    case .fileprovider: "fileprovider"
    case .liveactivity: "liveactivity"
    case .location: "location"
    case .mdm: "mdm"
    case .pushtotalk: "pushtotalk"
    case .voip: "voip"
    case .widgets: "widgets"
    }
  }

  var topicSuffix: StaticString {
    switch self {
    case .none, .alert, .background, .mdm: ""
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

  var maximumPayloadBytes: Int { self == .voip ? 5120 : 4096 }
}
