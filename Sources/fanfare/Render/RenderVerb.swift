import Assembly
import Ingest
import Model
import Render
import Settings
import Telemetry
import Terminal

/// Shows what a follower would get: for who writes templates, and for who wonders what went out.
enum RenderVerb {
  private static let template = Argument(
    required: "template", .path,
    help: "A template's name in templates.directory, or the path of its file")
  private static let event = Option<String?>(
    "event", .path, value: "FILE", help: "The event, as JSON; a made-up one unless given")
  private static let user = Option<String?>(
    "user", .text, value: "ID", help: "A user whose profile and devices are read from Redis")
  private static let locale = Option<String?>(
    "locale", .text, value: "TAG", help: "The follower's locale, such as zh-Hant-TW")
  private static let fields = Option<[NamedValue]>(
    repeated: "field", .named("NAME=VALUE"), value: "NAME=VALUE",
    help: "A field of the profile, such as name=Aiko")
  private static let allLocales = Option(
    flag: "all-locales", help: "Every variant of the template, one after the other")
  private static let json = Option(flag: "json", help: "Print one JSON object for each payload")

  static let verb = Verb(
    "render", summary: "Show what a follower would get",
    discussion: """
      Compiles the template, renders it for one person on the way that all pushes go, and shows \
      headers, payload and its size. --locale and --field stand above what Redis says of --user. \
      Nothing is sent.
      """,
    options: [event, user, locale, fields, allLocales, json] + ConfigurationOptions.all,
    arguments: [template],
    examples: [
      .init("fanfare render go-live --locale ja --field name=Aiko", "With a made-up event"),
      .init("fanfare render Config/templates/go-live.yaml --all-locales", "While it is written"),
      .init("fanfare render go-live --event event.json --user u1", "What u1 would get"),
    ], exitCodes: [.ok, .failed, .unavailable, .config]
  ) { invocation in
    await invocation.reporting { () async throws(CommandFailure) in try await run(invocation) }
  }

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let settings = try invocation.loadSettings()
    let template = try TemplateChoice.find(invocation[template], settings)
    for warning in template.warnings {
      invocation.errors.line(TextLayout.printable("warning: \(warning)"))
    }
    let event = try event(invocation, settings, template.name)
    var person = RenderedPerson()
    if let user = invocation[user] {
      person = try await RenderedPerson.read(
        user, fields: template.recipientFields, app: event.app, settings)
    }
    for field in invocation[fields] { person.fields[field.name] = field.value }
    if let locale = invocation[locale] { person.fields["locale"] = locale }
    let locales: [String?] = invocation[allLocales] ? template.locales : [nil]
    for (index, locale) in locales.enumerated() {
      if let locale { person.fields["locale"] = locale }
      let preview = try preview(template, event, person)
      say(person.fields["locale"], preview, invocation)
      if invocation[json] {
        invocation.output.line(PreviewText.json(preview, person).serialized())
      } else {
        if index > 0 { invocation.output.line() }
        invocation.output.write(PreviewText.text(preview, person))
      }
    }
    return .ok
  }

  /// A mistyped locale gets the default's text, as it does in production.
  private static func say(
    _ locale: String?, _ preview: RenderPreview, _ invocation: Invocation
  ) {
    guard let locale, locale != preview.locale else { return }
    invocation.errors.line(
      TextLayout.printable("locale \(locale): the template's \(preview.locale) is used"))
  }

  private static func preview(
    _ template: Template, _ event: Event, _ person: RenderedPerson
  ) throws(CommandFailure) -> RenderPreview {
    do {
      return try RenderStage(templates: [template]).prepare(event)
        .preview(recipient: person.fields)
    } catch {
      throw CommandFailure(.failed, error.description)
    }
  }

  private static func event(
    _ invocation: Invocation, _ settings: Settings, _ template: String
  ) throws(CommandFailure) -> Event {
    let reader = EventReader(options: Assembly.ingestOptions(settings))
    let event: Event
    if let path = invocation[Self.event] {
      event = try reader.read(file: path)[0].event
    } else {
      event = try reader.read(flags: Array(sample.utf8)).event
    }
    return Event(
      id: event.id, app: event.app, streamer: event.streamer, stream: event.stream,
      template: template, occurredAt: event.occurredAt, expiresAt: event.expiresAt,
      fields: event.fields, document: event.document)
  }

  private static var sample: String {
    let event: JSONOutput = [
      "id": "sample", "app": "com.example.live",
      "streamer": ["id": "s42", "name": "Aiko"],
      "stream": ["id": "b-991", "title": "Speedrun night", "category": "Games"],
      "occurred_at": .text(WallClock.rfc3339(WallClock.nowMilliseconds())),
    ]
    return event.serialized()
  }
}
