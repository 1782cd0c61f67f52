import Assembly
import Emission
import Model
import Preview
import PushSupport
import Render
import Terminal
import VerbSupport

/// The options of verbs that show a push, and what they name: the event and the person.
struct PreviewSubject {
  static let event = Option<String?>(
    "event", .path, value: "FILE", help: "A JSON file with the event; by default a sample event")
  static let user = Option<String?>(
    "user", .text, value: "ID", help: "A user whose profile and devices are read from Redis")
  static let fields = Option<[NamedValue]>(
    repeated: "field", .named("NAME=VALUE"), value: "NAME=VALUE",
    help: "A field of the profile, such as name=Aiko")

  let template: Template
  let event: Event
  var person = RenderedPerson()

  /// - Parameter given: a template's name or file.
  static func read(
    _ given: String, _ invocation: Invocation
  ) async throws(CommandFailure) -> PreviewSubject {
    let settings = try invocation.loadSettings()
    let template = try CommandTemplate.find(given, settings)
    let reader = EventReader(
      options: Assembly.ingestOptions(settings), now: invocation.nowMilliseconds)
    let event =
      if let path = invocation[Self.event] {
        try reader.read(file: path)[0].event
      } else {
        try reader.read(flags: TemplatePreview.sampleEvent(now: invocation.nowMilliseconds)).event
      }
    guard let event else { throw CommandFailure(.failed, "the end of a stream is shown to nobody") }
    var subject = PreviewSubject(template: template, event: event)
    if let user = invocation[user] {
      try RenderedPerson.check(user: user)
      let (keyspace, fields) = (Assembly.keyspace(settings), template.recipientFields)
      let rules = try CommandRules.read(settings)
      let topic = event.app + template.pushType.topicSuffix
      subject.person = try await CommandRedis.lend(settings) {
        (_, redis) async throws(CommandFailure) -> RenderedPerson in
        try await RenderedPerson.read(
          user, fields: fields, for: event, topic: topic, rules: rules,
          now: invocation.nowMilliseconds, redis,
          keyspace)
      }
    }
    for field in invocation[fields] { subject.person.fields[field.name] = field.value }
    return subject
  }

  /// Says on standard error what looks mistaken in the template.
  func warn(_ invocation: Invocation) {
    for warning in template.warnings {
      invocation.errors.line(TextLayout.printable("warning: \(warning)"))
    }
  }
}
