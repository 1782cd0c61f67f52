import Model

/// What a template sends to browsers: made of Apple's payload, unless its `webpush` section says
/// otherwise. Of alerts alone, since a browser must show a notification for each push.
///
/// The message is one of Declarative Web Push (Push API, section "Declarative push message"):
/// Safari shows it without a service worker, and the service workers of other browsers read the
/// same JSON. A message without `navigate` is no declarative one, and is for service workers alone.
struct WebPushPayload {
  /// Bytes of a message: what is left of the 4,096 of a body (RFC 8030, section 7.2) when the
  /// header, the delimiter and the tag are taken off (RFC 8188, RFC 8291).
  static let limit = 4096 - 86 - 1 - 16
  /// Firefox for Android gets its messages over FCM, which may refuse longer ones.
  static let androidLimit = 2800

  struct Message {
    let payload: TemplatePayload
    /// Nil: as the priority says.
    let urgency: PushUrgency?
  }

  private static let reference = "(https://w3c.github.io/push-api/#declarative-push-message)"
  private static let sectionKeys = [
    "title", "body", "navigate", "icon", "image", "badge", "actions", "tag",
    "require_interaction", "silent", "renotify", "data", "urgency",
  ]
  private static let actionKeys = ["action", "title", "navigate", "icon"]

  let apple: ApplePayloadParts
  let pushType: PushType
  let hasLocales: Bool
  let hasCollapseID: Bool
  let findings: TemplateFindings

  /// - Parameter section: the template's `webpush`.
  /// - Returns: nil where browsers get nothing of this template.
  func message(_ section: TemplateSource.Entry?, _ reader: inout PayloadReader) -> Message? {
    guard pushType == .alert else {
      if let section {
        findings.report(
          section.place,
          "browsers get nothing of pushes of type \(pushType.rawValue), since they must show each "
            + "push: remove 'webpush'")
      }
      return nil
    }
    let members = findings.section(section, keys: Self.sectionKeys)
    let urgency = urgency(members["urgency"])
    guard let notification = notification(members, &reader) else {
      if let section {
        findings.report(
          section.place,
          "a browser shows a title at least: add webpush.title, or an alert to the payload")
      }
      return nil
    }
    var message: TemplatePayload.Members = [("notification", .map(notification))]
    if members["navigate"] != nil {
      message.insert(("web_push", .json(Array("8030".utf8))), at: 0)
    } else if let section {
      findings.warn(section.place, "\(Self.needsServiceWorker) \(Self.reference)")
    }
    if let badge = apple.aps.first(where: { $0.key == "badge" })?.value {
      message.append(("app_badge", badge))
    }
    return Message(payload: .map(message), urgency: urgency)
  }

  private static let needsServiceWorker =
    "without webpush.navigate, the URL that a click opens, only a service worker shows the message"

  /// A template without a section may have been made for apps alone: a message that is always too
  /// long is no mistake of it, and browsers get none.
  func payload(
    _ message: Message, _ section: TemplateSource.Entry?, _ locales: TemplateLocales,
    _ writer: VariantWriter
  ) -> Template.Payload {
    let variants = writer.variants(
      of: message.payload, in: locales, limit: Self.limit, platform: .webpush,
      isRequired: section != nil)
    let lengths = zip(locales.table.names, variants).map { ($0, VariantWriter.fixedBytes($1)) }
    if let section, let (locale, bytes) = lengths.max(by: { $0.1 < $1.1 }),
      (Self.androidLimit + 1...Self.limit).contains(bytes)
    {
      findings.warn(
        section.place,
        "the message for locale \(locale) has \(bytes) bytes without any value: \(Self.tooLong)")
    }
    return Template.Payload(platform: .webpush, limit: Self.limit, variants: variants)
  }

  private static let tooLong =
    "Firefox for Android may not get messages of over \(androidLimit) bytes"

  /// What is to be said of a rendered message, in words.
  static func notes(on message: String) -> [String] {
    var notes: [String] = []
    if !message.hasPrefix(#"{"web_push""#) { notes.append(needsServiceWorker) }
    if message.utf8.count > androidLimit { notes.append(tooLong) }
    return notes
  }

  // MARK: the notification

  /// Nil without a title.
  private func notification(
    _ members: [String: TemplateSource.Entry], _ reader: inout PayloadReader
  ) -> TemplatePayload.Members? {
    let ownBody = text(members["body"], "webpush.body", isShortened: true, &reader)
    // One text may be shortened: the section's own body before another.
    func derived(_ payload: TemplatePayload) -> TemplatePayload {
      ownBody == nil ? payload : payload.unshortened
    }
    func ofAlert(_ key: String) -> TemplatePayload? {
      apple.alert.first { $0.key == key }.map { derived($0.value) }
    }
    let titled = text(members["title"], "webpush.title", &reader) ?? ofAlert("title")
    let untitled = ofAlert("body")
    let texts = titled == nil ? [untitled, ownBody] : [titled, ownBody ?? untitled]
    let shown = texts.compactMap(\.self)
    guard let title = shown.first else { return nil }

    var notification: TemplatePayload.Members = [("title", title)]
    func add(_ key: String, _ value: TemplatePayload?) {
      if let value { notification.append((key, value)) }
    }
    add("body", shown.dropFirst().first)
    add("navigate", link(members["navigate"], "webpush.navigate", &reader))
    if hasLocales { notification += [("lang", .language), ("dir", .direction)] }
    add("tag", text(members["tag"], "webpush.tag", &reader) ?? .collapseID)
    add("silent", flag(members["silent"], &reader) ?? silentLikeApples)
    for key in ["icon", "image", "badge"] {
      add(key, link(members[key], "webpush.\(key)", &reader))
    }
    add("actions", actions(members["actions"], members["navigate"] != nil, &reader))
    add("require_interaction", flag(members["require_interaction"], &reader))
    add("renotify", renotify(members, &reader))
    let data = data(members["data"], &reader) ?? derived(.map(apple.customKeys))
    if !data.members.isEmpty { add("data", data) }
    return notification
  }

  /// Apple's devices play no sound that the payload does not name.
  private var silentLikeApples: TemplatePayload? {
    apple.aps.contains { $0.key == "sound" } ? nil : .json(Array("true".utf8))
  }

  // MARK: the section

  private func urgency(_ entry: TemplateSource.Entry?) -> PushUrgency? {
    guard let entry else { return nil }
    if case .string(let text) = entry.value.value, let urgency = PushUrgency(rawValue: text) {
      return urgency
    }
    let known = TemplateFindings.list(PushUrgency.allCases.map(\.rawValue))
    findings.report(entry.value.place, "webpush.urgency must be one of \(known)")
    return nil
  }

  /// A value with a type is a text here too.
  private func text(
    _ entry: TemplateSource.Entry?, _ name: String, isShortened: Bool = false,
    _ reader: inout PayloadReader
  ) -> TemplatePayload? {
    guard let entry, findings.string(entry.value, name) != nil else { return nil }
    let payload = reader.walk(
      entry.value, shorten: isShortened ? [] : nil, path: ["webpush", entry.key])
    if case .value(let value) = payload { return .quoted(value) }
    return payload
  }

  /// A URL of https. A value alone is left out where it is none: a browser would pass over the
  /// whole message.
  private func link(
    _ entry: TemplateSource.Entry?, _ name: String, _ reader: inout PayloadReader
  ) -> TemplatePayload? {
    guard let entry, let text = findings.string(entry.value, name) else { return nil }
    let parsed = TemplateText(text)
    if let only = parsed.alone, only.type == nil, only.namespace != .text {
      return reader.link(only, at: entry.value.place)
    }
    let begins =
      switch parsed.parts.first {
      case .literal(let start): start.utf8.starts(with: ValueType.scheme.utf8)
      // Not known here.
      case .placeholder: true
      case nil: false
      }
    if !begins {
      findings.report(
        entry.value.place,
        "\(name) must be a URL that begins with \(ValueType.scheme) \(Self.reference)")
    }
    return self.text(entry, name, &reader)
  }

  private func flag(
    _ entry: TemplateSource.Entry?, _ reader: inout PayloadReader
  ) -> TemplatePayload? {
    guard let entry else { return nil }
    switch entry.value.value {
    case .boolean: break
    case .string(let text) where TemplateText(text).typed?.type == .boolean: break
    default:
      findings.report(
        entry.value.place,
        "webpush.\(entry.key) must be true or false, or a value like {{boolean data.x}}")
      return nil
    }
    return reader.walk(entry.value, shorten: nil, path: ["webpush", entry.key])
  }

  /// Browsers refuse a notification that is to alert again and replaces none.
  private func renotify(
    _ members: [String: TemplateSource.Entry], _ reader: inout PayloadReader
  ) -> TemplatePayload? {
    guard let entry = members["renotify"] else { return nil }
    if entry.value.value != .boolean(false), members["tag"] == nil, !hasCollapseID {
      findings.report(
        entry.place, "webpush.renotify needs a tag to replace by: add collapse_id or webpush.tag")
    }
    return flag(entry, &reader)
  }

  private func data(
    _ entry: TemplateSource.Entry?, _ reader: inout PayloadReader
  ) -> TemplatePayload? {
    guard let entry else { return nil }
    guard case .map = entry.value.value else {
      findings.report(entry.value.place, "webpush.data must be a map")
      return nil
    }
    return reader.walk(entry.value, shorten: nil, path: ["webpush", entry.key])
  }

  /// - Parameter isDeclarative: each must have a URL to open then.
  private func actions(
    _ entry: TemplateSource.Entry?, _ isDeclarative: Bool, _ reader: inout PayloadReader
  ) -> TemplatePayload? {
    guard let entry else { return nil }
    guard case .list(let nodes) = entry.value.value else {
      findings.report(
        entry.value.place, "webpush.actions must be a list of maps with action, title, navigate")
      return nil
    }
    return .list(nodes.map { action($0, isDeclarative, &reader) })
  }

  private func action(
    _ node: TemplateSource.Node, _ isDeclarative: Bool, _ reader: inout PayloadReader
  ) -> TemplatePayload {
    let name = "webpush.actions"
    guard case .map(let entries) = node.value else {
      findings.report(node.place, "\(name) has maps with action, title, navigate")
      return .map([])
    }
    let members = findings.unique(entries)
    for key in ["action", "title"] + (isDeclarative ? ["navigate"] : [])
    where members[key] == nil {
      findings.report(node.place, "\(name): '\(key)' is missing \(Self.reference)")
    }
    var action: TemplatePayload.Members = []
    for entry in entries {
      switch entry.key {
      case "action", "title":
        let text = text(entry, "\(name).\(entry.key)", &reader)
        if let text { action.append((entry.key, text)) }
      case "navigate", "icon":
        let link = link(entry, "\(name).\(entry.key)", &reader)
        if let link { action.append((entry.key, link)) }
      default:
        findings.report(
          entry.place,
          "unknown key '\(entry.key)': \(name) has \(TemplateFindings.list(Self.actionKeys))")
      }
    }
    return .map(action)
  }
}
