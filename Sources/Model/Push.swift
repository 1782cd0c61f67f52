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

/// The app that a topic is of, which is the topic without the suffix of a push type.
package enum TopicApp {
  private static let suffixes = Set(PushType.allCases.map(\.topicSuffix)).subtracting([""])

  /// The apps that a topic may belong to: itself, as of an app whose name ends as a suffix does,
  /// and the app before each suffix that it ends in.
  package static func candidates(of topic: String) -> [String] {
    [topic]
      + suffixes.filter { topic.hasSuffix($0) }.sorted { $0.utf8.count > $1.utf8.count }
      .map { String(topic.dropLast($0.count)) }
  }
}
