import Assembly
import Render

/// A template whose pushes say which event they are of.
enum WorldTemplate {
  static let name = "world"

  private static let text = """
    payload:
      aps:
        alert:
          title: "{{streamer.name|A streamer}} is live"
          body: "Hi {{recipient.name|there}}: {{stream.title|come and see}}"
      e: "{{event.id}}"
    default_locale: en
    locales:
      en: {}
    """

  static func source() throws -> TemplateSource {
    try TemplateFile.parse(Array(text.utf8), name: name, file: "\(name).yaml")
  }
}
