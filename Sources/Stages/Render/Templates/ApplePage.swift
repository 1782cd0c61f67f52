/// A page of Apple's documentation that says a rule.
struct ApplePage: Equatable, Sendable {
  /// Its title is the end of it.
  let path: String

  /// As it stands behind a message.
  var reference: String { "(https://developer.apple.com/documentation/\(path))" }

  static let requests = ApplePage(path: "usernotifications/sending-notification-requests-to-apns")
  static let payload = ApplePage(path: "usernotifications/generating-a-remote-notification")
  static let background = ApplePage(
    path: "usernotifications/pushing-background-updates-to-your-app")
  static let serviceExtension = ApplePage(
    path: "usernotifications/modifying-content-in-newly-delivered-notifications")
  static let liveActivity = ApplePage(
    path: "activitykit/starting-and-updating-live-activities-with-activitykit-push-notifications")
  static let voip = ApplePage(path: "pushkit/responding-to-voip-notifications-from-pushkit")
  static let pushToTalk = ApplePage(path: "pushtotalk/creating-a-push-to-talk-app")
  static let widgets = ApplePage(
    path: "widgetkit/updating-widgets-with-widgetkit-push-notifications")
  static let controls = ApplePage(path: "widgetkit/updating-controls-locally-and-remotely")
  static let fileProvider = ApplePage(
    path: "fileprovider/using-push-notifications-to-signal-changes")
  static let deviceManagement = ApplePage(path: "devicemanagement/sending-mdm-commands-to-a-device")
}
