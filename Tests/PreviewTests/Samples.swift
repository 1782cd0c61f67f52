import Assembly
import Emission
import Ingest
import Model
import Render
import Terminal

@testable import Preview

enum Samples {
  static let now: Int64 = 1_795_248_000_000

  static let text = """
    default_locale: en
    payload:
      aps:
        alert: { title: "{{text.title}}", body: "{{text.body}}" }
        badge: "{{recipient.badge}}"
    locales:
      en: { title: "{{streamer.name}} is live", body: "{{recipient.name|you}}, {{stream.title}}" }
      de: { title: "{{streamer.name}} ist live" }

    """

  static func source(_ text: String, file: String) throws -> TemplateSource {
    try TemplateFile.parse(Array(text.utf8), name: "go-live", file: file)
  }

  static func template(_ text: String = text) throws -> Template {
    try Template.compile(source(text, file: "go-live.yaml"))
  }

  static func event(
    _ document: [UInt8] = TemplatePreview.sampleEvent(now: now)
  ) throws(CommandFailure) -> Event {
    let read = try EventReader(options: IngestOptions(), now: now).read(flags: document)
    guard let event = read.event else { throw CommandFailure(.failed, "no event") }
    return event
  }
}
