import Text

/// A field of the request's JSON: its name in lower camel case. The name of the protocol buffer,
/// `collapse_key`, is read too (ProtoJSON).
struct MessageField {
  /// Which member of the oneof `target` a field is.
  enum Target: UInt8 { case token, fid, topic, condition }
  /// How much a map of texts matters besides its types.
  enum MapRole { case data, androidData, other }

  enum Kind {
    case text, boolean, integer, number, duration, timeToLive, timestamp, color, label
    case choice([StaticString])
    case texts, durations
    case textMap(MapRole)
    /// google.protobuf.Struct: any JSON.
    case anything
    case target(Target)
    case validateOnly
    case object(MessageSchema)
  }

  let name: StaticString
  let kind: Kind

  init(_ name: StaticString, _ kind: Kind) {
    self.name = name
    self.kind = kind
  }
}

/// The fields of a message of fcm.v1 (schema revision 20261023).
final class MessageSchema: Sendable {
  enum Place { case request, message, notification, android, androidV2, other }

  /// As errors name it: `message.android`.
  let path: String
  let place: Place
  let fields: [MessageField]

  init(_ path: String, as place: Place = .other, _ fields: [MessageField]) {
    self.path = path
    self.place = place
    self.fields = fields
  }

  /// The field of this name, either spelling.
  func find(_ name: UnsafeBufferPointer<UInt8>) -> MessageField? {
    for field in fields where Self.isName(name, of: field.name) { return field }
    return nil
  }

  private static func isName(_ name: UnsafeBufferPointer<UInt8>, of field: StaticString) -> Bool {
    let count = field.utf8CodeUnitCount
    let start = field.utf8Start
    if name.count == count {
      for index in 0..<count where name[index] != start[index] { return false }
      return true
    }
    guard name.count > count else { return false }
    var place = 0
    for index in 0..<count {
      if start[index].isASCIIUpper {
        guard place < name.count, name[place] == UInt8(ascii: "_") else { return false }
        place += 1
      }
      guard place < name.count, name[place] == start[index].asciiLowered else { return false }
      place += 1
    }
    return place == name.count
  }
}

extension MessageSchema {
  static let request = MessageSchema(
    "", as: .request,
    [MessageField("message", .object(message)), MessageField("validateOnly", .validateOnly)])

  private static let message = MessageSchema(
    "message", as: .message,
    [
      MessageField("token", .target(.token)), MessageField("data", .textMap(.data)),
      MessageField("notification", .object(notification)),
      MessageField("android", .object(android)),
      MessageField("apns", .object(apns)), MessageField("webpush", .object(webpush)),
      MessageField("fid", .target(.fid)), MessageField("topic", .target(.topic)),
      MessageField("condition", .target(.condition)), MessageField("name", .text),
      MessageField("fcmOptions", .object(options("message.fcm_options"))),
      MessageField("androidV2", .object(androidV2)),
    ])

  private static let notification = MessageSchema(
    "message.notification", as: .notification,
    [MessageField("title", .text), MessageField("body", .text), MessageField("image", .text)])

  private static func options(
    _ path: String, _ more: [MessageField] = []
  ) -> MessageSchema {
    MessageSchema(path, [MessageField("analyticsLabel", .label)] + more)
  }

  private static func androidFields(_ path: String) -> [MessageField] {
    [
      MessageField("collapseKey", .text), MessageField("ttl", .timeToLive),
      MessageField("data", .textMap(.androidData)), MessageField("restrictedPackageName", .text),
      MessageField("fcmOptions", .object(options(path + ".fcm_options"))),
      MessageField("directBootOk", .boolean), MessageField("bandwidthConstrainedOk", .boolean),
      MessageField("restrictedSatelliteOk", .boolean),
    ]
  }

  private static let android = MessageSchema(
    "message.android", as: .android,
    [
      MessageField("priority", .choice(["NORMAL", "HIGH"])),
      MessageField(
        "notification",
        .object(
          MessageSchema(
            "message.android.notification", as: .notification,
            androidNotification("message.android.notification") + [
              MessageField("bypassProxyNotification", .boolean),
              MessageField(
                "proxy", .choice(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"])),
            ]))),
    ] + androidFields("message.android"))

  private static let androidV2 = MessageSchema(
    "message.android_v2", as: .androidV2,
    [
      MessageField("backgroundSync", .object(MessageSchema("message.android_v2.sync", []))),
      MessageField(
        "remoteNotification",
        .object(
          MessageSchema(
            "message.android_v2.remote_notification",
            [
              MessageField("mutableContent", .boolean),
              MessageField("useAsV1DataMessage", .boolean),
              MessageField(
                "notification",
                .object(
                  MessageSchema(
                    "message.android_v2.remote_notification.notification", as: .notification,
                    androidNotification("message.android_v2.remote_notification.notification") + [
                      MessageField("id", .integer)
                    ]))),
            ]))),
    ] + androidFields("message.android_v2"))

  private static func androidNotification(_ path: String) -> [MessageField] {
    [
      MessageField("title", .text), MessageField("body", .text), MessageField("icon", .text),
      MessageField("color", .color), MessageField("sound", .text), MessageField("tag", .text),
      MessageField("image", .text), MessageField("clickAction", .text),
      MessageField("channelId", .text), MessageField("ticker", .text),
      MessageField("bodyLocKey", .text), MessageField("bodyLocArgs", .texts),
      MessageField("titleLocKey", .text), MessageField("titleLocArgs", .texts),
      MessageField("sticky", .boolean), MessageField("eventTime", .timestamp),
      MessageField("localOnly", .boolean), MessageField("notificationCount", .integer),
      MessageField(
        "notificationPriority",
        .choice([
          "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT",
          "PRIORITY_HIGH", "PRIORITY_MAX",
        ])),
      MessageField(
        "visibility", .choice(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"])),
      MessageField("vibrateTimings", .durations), MessageField("defaultSound", .boolean),
      MessageField("defaultVibrateTimings", .boolean),
      MessageField("defaultLightSettings", .boolean),
      MessageField("lightSettings", .object(lightSettings(path + ".light_settings"))),
    ]
  }

  private static func lightSettings(_ path: String) -> MessageSchema {
    MessageSchema(
      path,
      [
        MessageField(
          "color",
          .object(
            MessageSchema(
              path + ".color",
              [
                MessageField("red", .number), MessageField("green", .number),
                MessageField("blue", .number), MessageField("alpha", .number),
              ]))),
        MessageField("lightOnDuration", .duration), MessageField("lightOffDuration", .duration),
      ])
  }

  private static let apns = MessageSchema(
    "message.apns",
    [
      MessageField("headers", .textMap(.other)), MessageField("payload", .anything),
      MessageField(
        "fcmOptions", .object(options("message.apns.fcm_options", [MessageField("image", .text)]))),
      MessageField("liveActivityToken", .text),
    ])

  private static let webpush = MessageSchema(
    "message.webpush",
    [
      MessageField("headers", .textMap(.other)), MessageField("data", .textMap(.other)),
      MessageField("notification", .anything),
      MessageField(
        "fcmOptions",
        .object(options("message.webpush.fcm_options", [MessageField("link", .text)]))),
    ])
}
