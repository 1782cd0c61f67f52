import Model
import Testing

@testable import Render

/// What the tests render with: an event, a small template, a page.
enum Samples {
  static let fields = [
    "streamer.id": "s42", "streamer.name": "Aiko", "stream.id": "b-991",
    "stream.title": "Speedrun night", "stream.category": "Games",
  ]

  static func event(
    id: String = "live-8f2c", fields: [String: String] = fields, template: String = "go-live"
  ) -> Event {
    Event(
      id: id, app: "com.example.live", streamer: fields["streamer.id"] ?? "s42", stream: "b-991",
      template: template, occurredAt: 1_763_712_000_000, expiresAt: 1_763_712_900_999,
      fields: fields,
      document: [])
  }

  static let template = """
    collapse_id: "live-{{streamer.id}}"
    shorten: aps.alert.body
    default_locale: en
    payload:
      aps:
        alert:
          title: "{{text.title}}"
          body: "{{text.body}}"
        badge: "{{recipient.badge}}"
        sound: default
      stream: "{{stream.id}}"
    locales:
      en:
        title: "{{streamer.name}} is live"
        body: "Hi {{recipient.name|there}}, {{stream.title}}"
      zh-Hant:
        title: "{{streamer.name}}開播了"
        body: "{{recipient.name|嗨}}，{{stream.title}}"
      ja:
        title: "{{streamer.name}}が配信中"
    """

  static func compile(_ yaml: String = template) throws -> Template {
    try Template.compile(TemplateReader.source(yaml))
  }

  static func prepare(_ yaml: String = template, _ event: Event = event()) throws -> PreparedEvent {
    try RenderStage(templates: [compile(yaml)]).prepare(event)
  }

  /// The messages that compiling gives, in the order of the file.
  static func problems(_ yaml: String) -> [String] {
    do {
      _ = try compile(yaml)
      return []
    } catch let error as RenderError {
      return error.problems.map(\.description)
    } catch {
      return ["\(error)"]
    }
  }

  struct Person {
    var user: String
    var fields: [String: [UInt8]] = [:]
    var devices = 1
  }

  static func page(_ people: [Person], fieldNames: [String]) -> RecipientPage {
    let page = RecipientPage(fieldNames: fieldNames)
    for person in people {
      page.recipients.append(
        RecipientPage.Recipient(
          user: page.bytes.append(utf8: person.user), firstBinding: page.bindings.count,
          bindingCount: person.devices))
      for device in 0..<person.devices {
        let token = "ab" + String(repeating: "0", count: 62 - 6) + String(100_000 + device)
        let member = page.bytes.append(utf8: "apns:production:com.example.live:\(token)")
        page.bindings.append(
          RecipientPage.Binding(
            member: member, token: member.last(token.utf8.count), destination: .production))
      }
      page.fields += fieldNames.map { name in
        person.fields[name].map { page.bytes.append($0) } ?? .missing
      }
    }
    page.followers = people.count
    return page
  }

  /// The payload of one person, straight from a batch; nil when it was rejected.
  static func payload(_ prepared: PreparedEvent, _ fields: [String: [UInt8]]) -> [UInt8]? {
    let page = page([Person(user: "u", fields: fields)], fieldNames: prepared.fieldNames)
    let rendering = PageRendering(page, prepared, tally: SegmentTally(), maximumPushes: 8)
    guard let batch = rendering.next(), let push = batch.entries.first else { return nil }
    return Array(batch.bytes[push.payload])
  }
}
