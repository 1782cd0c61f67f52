import Assembly
import Emission
import Model
import Preview
import PushSupport
import Terminal
import VerbSupport

/// Shows what a follower would get: for who writes templates, and for who wonders what went out.
package enum RenderVerb {
  private static let template = Argument(
    required: "template", .path,
    help: "The name of a template in templates.directory, or the path of its file")
  private static let event = Option<String?>(
    "event", .path, value: "FILE", help: "A JSON file with the event; by default a sample event")
  private static let user = Option<String?>(
    "user", .text, value: "ID", help: "A user whose profile and devices are read from Redis")
  private static let locale = Option<String?>(
    "locale", .text, value: "TAG", help: "The follower's locale, such as zh-Hant-TW")
  private static let fields = Option<[NamedValue]>(
    repeated: "field", .named("NAME=VALUE"), value: "NAME=VALUE",
    help: "A field of the profile, such as name=Aiko")
  private static let allLocales = Option(
    flag: "all-locales", help: "Show every variant of the template, one after the other")
  private static let json = Option(flag: "json", help: "Print one JSON object for each payload")

  package static let verb = Verb(
    "render", summary: "Show the push that a follower would get",
    discussion: """
      Compiles the template, renders it for one person just as a worker does, and shows the \
      headers, the payload and its size. --locale and --field override what Redis says about \
      --user. Nothing is sent.
      """,
    options: [event, user, locale, fields, allLocales, json] + ConfigurationOptions.all,
    arguments: [template],
    examples: [
      .init(
        "fanfare render go-live --locale ja --field name=Aiko",
        "Render the template with a sample event"),
      .init(
        "fanfare render Config/templates/go-live.yaml --all-locales",
        "Show all languages while you write the template"),
      .init("fanfare render go-live --event event.json --user u1", "Show what u1 would get"),
    ], exitCodes: [.ok, .failed, .unavailable, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let settings = try invocation.loadSettings()
    let template = try CommandTemplate.find(invocation[template], settings)
    for warning in template.warnings {
      invocation.errors.line(TextLayout.printable("warning: \(warning)"))
    }
    let reader = EventReader(
      options: Assembly.ingestOptions(settings), now: invocation.nowMilliseconds)
    let event =
      if let path = invocation[Self.event] {
        try reader.read(file: path)[0].event
      } else {
        try reader.read(flags: TemplatePreview.sampleEvent(now: invocation.nowMilliseconds)).event
      }
    guard let event else { throw CommandFailure(.failed, "the end of a stream is shown to nobody") }
    var person = RenderedPerson()
    if let user = invocation[user] {
      try RenderedPerson.check(user: user)
      let (keyspace, fields) = (Assembly.keyspace(settings), template.recipientFields)
      let rules = try CommandRules.read(settings)
      let topic = event.app + template.pushType.topicSuffix
      person = try await CommandRedis.lend(settings) {
        (_, redis) async throws(CommandFailure) -> RenderedPerson in
        try await RenderedPerson.read(
          user, fields: fields, for: event, topic: topic, rules: rules,
          now: invocation.nowMilliseconds, redis,
          keyspace)
      }
    }
    for field in invocation[fields] { person.fields[field.name] = field.value }
    if let locale = invocation[locale] { person.fields["locale"] = locale }
    let preview = TemplatePreview(template, event)
    // A made-up event has nothing of the app's own.
    for complaint in invocation.isGiven(Self.event) ? preview.complaints : [] {
      invocation.errors.line(TextLayout.printable("warning: \(complaint)"))
    }
    let locales: [String?] = invocation[allLocales] ? template.locales : [nil]
    for (index, locale) in locales.enumerated() {
      if let locale { person.fields["locale"] = locale }
      let shown = try preview.preview(person)
      say(person.fields["locale"], used: shown.locale, invocation)
      if invocation[json] {
        invocation.output.line(PreviewText.json(shown, person).serialized())
      } else {
        if index > 0 { invocation.output.line() }
        invocation.output.write(PreviewText.text(shown, person))
      }
    }
    return .ok
  }

  /// A mistyped locale gets the default's text, as it does in production.
  private static func say(_ locale: String?, used: String, _ invocation: Invocation) {
    guard let locale, locale != used else { return }
    let hint = LocaleTag(locale)?.isOfKnownLanguage == true ? "" : LocaleTag.hint(locale)
    invocation.errors.line(
      TextLayout.printable("locale \(locale): the template's \(used) is used\(hint)"))
  }
}
