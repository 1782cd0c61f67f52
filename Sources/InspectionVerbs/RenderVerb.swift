import Model
import Preview
import Terminal
import VerbSupport

/// Shows what a follower would get: for who writes templates, and for who wonders what went out.
package enum RenderVerb {
  private static let template = Argument(
    required: "template", .path,
    help: "The name of a template in templates.directory, or the path of its file")
  private static let locale = Option<String?>(
    "locale", .text, value: "TAG", help: "The follower's locale, such as zh-Hant-TW")
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
    options: [
      PreviewSubject.event, PreviewSubject.user, locale, PreviewSubject.fields, allLocales, json,
    ] + ConfigurationOptions.all,
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
    let subject = try await PreviewSubject.read(invocation[template], invocation)
    subject.warn(invocation)
    var person = subject.person
    if let locale = invocation[locale] { person.fields["locale"] = locale }
    let preview = TemplatePreview(subject.template, subject.event)
    // A made-up event has nothing of the app's own.
    for complaint in invocation.isGiven(PreviewSubject.event) ? preview.complaints : [] {
      invocation.errors.line(TextLayout.printable("warning: \(complaint)"))
    }
    let locales: [String?] = invocation[allLocales] ? subject.template.locales : [nil]
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
