import Model

/// What a template sends to Android: made of Apple's payload, unless its `fcm` section says
/// otherwise. Of alerts the title and the text become the notification, and the app's own keys
/// become `data`; of background pushes there is `data` alone. Other push types are Apple's only.
///
/// FCM takes one JSON object a message. The token, and the time that is left, are written where it
/// is sent; here is what stands behind them, the tail of `android` first.
struct FCMPayload {
  /// Bytes of the tail: FCM takes 4,096 bytes of title, text, keys and values ("Error codes"). The
  /// tail's own JSON counts here too, so it is never too long.
  static let limit = 4096
  /// Rules for the keys.
  static let reference =
    "(https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages)"

  private static let sectionKeys = ["priority", "notification", "data", "android_notification"]
  private static let notificationKeys = ["title", "body", "image"]
  private static let androidKeys = [
    "title", "body", "icon", "color", "sound", "tag", "click_action", "body_loc_key",
    "body_loc_args", "title_loc_key", "title_loc_args", "channel_id", "ticker", "sticky",
    "event_time", "local_only", "notification_priority", "default_sound",
    "default_vibrate_timings", "default_light_settings", "vibrate_timings", "visibility",
    "notification_count", "light_settings", "image", "proxy",
  ]

  let apple: ApplePayloadParts
  let pushType: PushType
  let priority: Int
  let findings: TemplateFindings

  /// - Parameter section: the template's `fcm`.
  /// - Returns: nil where Android gets nothing of this template.
  func tail(
    _ section: TemplateSource.Entry?, _ reader: inout PayloadReader
  ) -> TemplatePayload? {
    guard pushType == .alert || pushType == .background else {
      if let section {
        findings.report(
          section.place, "pushes of type \(pushType.rawValue) are Apple's alone: remove 'fcm'")
      }
      return nil
    }
    let members = findings.section(section, keys: Self.sectionKeys)
    var parts: [TemplatePayload] = [
      .json(Array(#","priority":"\#(priority(members["priority"]))""#.utf8))
    ]
    let isShown = pushType == .alert || members["notification"] != nil
    if isShown {
      parts.append(.json(Array(#","notification":"#.utf8)))
      parts.append(
        own(members["android_notification"], Self.androidKeys, &reader)
          .map(taggedUnlessItIs) ?? .map([("sound", sound), ("tag", .collapseID)]))
    }
    parts.append(.json(Array("}".utf8)))
    if isShown {
      parts.append(.json(Array(#","notification":"#.utf8)))
      parts.append(
        own(members["notification"], Self.notificationKeys, shorten: ["body"], &reader)
          ?? .map(apple.alert))
    }
    let custom = TemplatePayload.map(apple.customKeys)
    let data =
      own(members["data"], nil, &reader)
      ?? (members["notification"] == nil ? custom : custom.unshortened)
    if case .map(let fields) = data, !fields.isEmpty {
      parts.append(.json(Array(#","data":"#.utf8)))
      parts.append(.map(texts(of: data, named: "").filter { isAllowed($0.key, section) }))
    }
    return .sequence(parts)
  }

  func payload(
    _ tail: TemplatePayload, _ locales: TemplateLocales, _ writer: VariantWriter
  ) -> Template.Payload {
    let variants = writer.variants(of: tail, in: locales, limit: Self.limit, platform: .fcm)
    return Template.Payload(platform: .fcm, limit: Self.limit, variants: variants)
  }

  /// A rendered tail as an object of its own, for people.
  static func object(tail: String) -> String { #"{"android":{"# + tail.dropFirst() + "}" }

  // MARK: the section

  /// Google delivers messages of high priority at once, and wakes the phone for them.
  private func priority(_ entry: TemplateSource.Entry?) -> String {
    guard let entry else { return priority == 10 ? "HIGH" : "NORMAL" }
    switch entry.value.value {
    case .string("high"): return "HIGH"
    case .string("normal"): return "NORMAL"
    default:
      findings.report(
        entry.value.place, "fcm.priority must be high or normal \(Self.reference)")
      return "HIGH"
    }
  }

  /// A map of the section, as it stands there.
  /// - Parameter known: the keys that FCM has; nil: the app's own.
  private func own(
    _ entry: TemplateSource.Entry?, _ known: [String]?, shorten: [String]? = nil,
    _ reader: inout PayloadReader
  ) -> TemplatePayload? {
    guard let entry else { return nil }
    guard case .map(let entries) = entry.value.value else {
      findings.report(entry.value.place, "fcm.\(entry.key) must be a map")
      return nil
    }
    for member in entries {
      guard let known, !known.contains(member.key) else { continue }
      findings.report(
        member.place,
        "FCM has no fcm.\(entry.key).\(member.key): use \(TemplateFindings.list(known)) "
          + Self.reference)
    }
    return reader.walk(entry.value, shorten: shorten, path: ["fcm", entry.key])
  }

  private func taggedUnlessItIs(_ payload: TemplatePayload) -> TemplatePayload {
    guard case .map(let members) = payload, !members.contains(where: { $0.key == "tag" }) else {
      return payload
    }
    return .map(members + [("tag", .collapseID)])
  }

  /// FCM keeps some keys for itself.
  private func isAllowed(_ key: String, _ section: TemplateSource.Entry?) -> Bool {
    guard
      ["from", "message_type"].contains(key) || key.hasPrefix("google.")
        || key.hasPrefix("gcm.notification.")
    else { return true }
    findings.warn(
      section?.place ?? findings.source.root.place,
      "FCM keeps the key '\(key)' of data for itself: Android does not get it "
        + Self.reference)
    return false
  }

  // MARK: Apple's payload

  /// The app has Apple's sounds under other names, if at all.
  private var sound: TemplatePayload { .json(Array(#""default""#.utf8)) }

  /// FCM's `data` has texts only: what is deeper has a dotted key, and each number or boolean is a
  /// text.
  private func texts(
    of payload: TemplatePayload, named name: String
  ) -> [(key: String, value: TemplatePayload)] {
    let prefix = name.isEmpty ? "" : name + "."
    switch payload {
    case .map(let members): return members.flatMap { texts(of: $0.value, named: prefix + $0.key) }
    case .list(let items):
      return items.enumerated().flatMap { texts(of: $0.element, named: prefix + "\($0.offset)") }
    case .json(let bytes):
      return bytes == Array("null".utf8) ? [] : [(name, .sequence([quote, payload, quote]))]
    case .value(let value): return [(name, .quoted(value))]
    case .text, .quoted, .sequence, .collapseID, .language, .direction: return [(name, payload)]
    }
  }

  private var quote: TemplatePayload { .json([0x22]) }
}
