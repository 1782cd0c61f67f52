import Assembly
import Model
import Render

/// A template and an event for whoever only needs some.
enum SmallTemplate {
  static let compiled: Template? = {
    let text = """
      shorten: aps.alert.body
      default_locale: en
      payload:
        aps: {alert: {title: "{{text.title}}", body: "{{recipient.name|you}}, {{stream.title}}"}}
        badge: "{{recipient.badge}}"
      locales:
        en: {title: "{{streamer.name}}"}
        zh-Hant: {title: "{{streamer.name}}開播了"}
        pt-BR: {title: "ao vivo"}
        ar: {title: "{{streamer.name}}"}
      """
    let source = try? TemplateFile.parse(Array(text.utf8), name: "t", file: "t.yaml")
    return source.flatMap { try? Template.compile($0) }
  }()

  /// With texts that must be escaped, and one that must be cut.
  static func event(_ template: String) -> Event {
    Event(
      id: "live-8f2c", app: "com.example.live", streamer: "s42", stream: "b-991",
      template: template, occurredAt: fuzzTime, expiresAt: fuzzTime + 900_000,
      fields: [
        "event.id": "live-8f2c", "streamer.id": "s42", "streamer.name": "Ai\u{1F441}ko\"",
        "stream.id": "b-991", "stream.title": String(repeating: "\u{1F3AE}long \n", count: 150),
        "data.list": "[1,{\"a\":2}]", "data.number": "1.5",
      ], document: [])
  }
}
