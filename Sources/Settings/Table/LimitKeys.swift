import Text

extension SettingTable {
  static let limits: [SettingKey] = [
    .integer(
      "limits.event", \.limits.event, default: 0, 0...PushLimitRule.maximum,
      "The limit of pushes a second for each event. An event's own `pushes_per_second` can be "
        + "lower. 0 means no limit."),
    .map(
      "limits.apps", \.limits.apps, PushLimitRule.complaint,
      "The limit of pushes a second for all events of an app, by bundle id: {com.example.app: "
        + "20000}."),
  ]
}

/// The rule for an app's limit of pushes a second.
enum PushLimitRule {
  static let maximum = 1_000_000

  static func complaint(app: String, value: String) -> SettingComplaint? {
    let isBundleID = app.utf8.allSatisfy {
      $0.isASCIIWord || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-")
    }
    guard isBundleID, !app.isEmpty else {
      return SettingComplaint("`\(app)` must be a bundle id: letters, digits, '.' and '-'")
    }
    guard let pushes = Int(value), (1...maximum).contains(pushes) else {
      return SettingComplaint("`\(app)` must have a whole number from 1 to \(maximum)")
    }
    return nil
  }
}
