import Model
import Render
import Terminal

/// A preview for people and for scripts.
package enum PreviewText {
  package static func text(_ preview: RenderPreview, _ person: RenderedPerson) -> String {
    var text = TextLayout.padded("locale", to: 18) + preview.locale + "\n"
    for header in headers(preview.headers) {
      text += "\(TextLayout.padded(header.name, to: 18))\(TextLayout.printable(header.value))\n"
    }
    for message in preview.messages {
      if message.platform != .apns { text += "\n\(message.platform.name)\n" }
      if message.platform == .webpush {
        text += TextLayout.padded("urgency", to: 18) + preview.headers.urgency.rawValue + "\n"
      }
      text += pretty(message.payload) + "\n"
      text += "\(message.byteCount) of \(message.limit) bytes"
      text += message.isShortened ? ", shortened to fit\n" : "\n"
      for note in message.notes { text += note + "\n" }
    }
    for each in preview.oversized { text += "\n\(each.platform.name)\n\(each.problem)\n" }
    if let devices = person.devices { text += words(devices) + "\n" }
    return text
  }

  package static func json(_ preview: RenderPreview, _ person: RenderedPerson) -> JSONOutput {
    var headers = Terminal.JSONObject()
    for header in Self.headers(preview.headers) { headers[header.name] = .text(header.value) }
    var object: Terminal.JSONObject = [
      "locale": .text(preview.locale), "headers": .object(headers),
    ]
    for message in preview.messages {
      let members = json(message)
      if message.platform == .apns {
        for (name, value) in members { object[name] = value }
      } else {
        var other = Terminal.JSONObject()
        for (name, value) in members { other[name] = value }
        if message.platform == .webpush {
          other["urgency"] = .text(preview.headers.urgency.rawValue)
          other["notes"] = .array(message.notes.map { .text($0) })
        }
        object[message.platform.name] = .object(other)
      }
    }
    for each in preview.oversized {
      object[each.platform.name] = ["problem": .text(each.problem)]
    }
    if let devices = person.devices {
      var addressed = Terminal.JSONObject()
      for (name, count) in devices.addressed.sorted(by: { $0.key < $1.key }) {
        addressed[name] = .integer(count)
      }
      object["devices"] = .object(addressed)
      object["devices_of_other_topics"] = .integer(devices.others)
      object["devices_skipped"] = .integer(devices.skipped)
      object["muted"] = .bool(devices.suppressedBy == .muted)
      object["suppressed_by"] = devices.suppressedBy.map { .text($0.name) } ?? .null
    }
    return .object(object)
  }

  private static func json(
    _ message: RenderPreview.Message
  ) -> [(name: String, value: JSONOutput)] {
    [
      ("payload", value(message.payload) ?? .text(message.payload)),
      ("bytes", .integer(message.byteCount)), ("maximum_bytes", .integer(message.limit)),
      ("shortened", .bool(message.isShortened)),
    ]
  }

  private static func headers(_ headers: PushHeaders) -> [(name: String, value: String)] {
    var list = [
      (name: "apns-topic", value: headers.topic),
      (name: "apns-push-type", value: headers.pushType.rawValue),
      (name: "apns-priority", value: String(headers.priority)),
      (name: "apns-expiration", value: String(headers.expiration)),
    ]
    if let collapseID = headers.collapseID {
      list.append((name: "apns-collapse-id", value: collapseID))
    }
    return list
  }

  private static func value(_ payload: String) -> JSONOutput? {
    JSONOutput(json: payload)
  }

  private static func pretty(_ payload: String) -> String {
    value(payload)?.serialized(indented: true) ?? TextLayout.printable(payload)
  }

  package static func words(_ devices: RenderedPerson.Devices) -> String {
    if let rule = devices.suppressedBy {
      return rule == .quiet
        ? "quiet hours: nothing would be sent now" : "\(rule.name): nothing would be sent"
    }
    let addressed = devices.addressed.sorted { $0.key < $1.key }
      .map { "\($0.value) in \($0.key)" }.joined(separator: ", ")
    let others = devices.others > 0 ? "; \(devices.others) of other topics" : ""
    let skipped = devices.skipped > 0 ? "; \(devices.skipped) passed over: not a binding" : ""
    return (addressed.isEmpty ? "no device of this topic" : "devices: \(addressed)") + others
      + skipped
  }
}
