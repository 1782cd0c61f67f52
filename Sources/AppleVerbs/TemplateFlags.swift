import Assembly
import Emission
import Preview
import PushSupport
import Render
import Terminal
import VerbSupport

/// A template with the event and the person that it is filled in with.
enum TemplateFlags {
  static let template = Option<String?>(
    "template", .text, value: "NAME",
    help: "The name of a template in templates.directory, or the path of its file")
  private static let event = Option<String?>(
    "event", .path, value: "FILE",
    help: "A JSON file with the template's event; by default a sample event"
  )
  private static let locale = Option<String?>(
    "locale", .text, value: "TAG", help: "The follower's locale, for the template")
  private static let fields = Option<[NamedValue]>(
    repeated: "field", .named("NAME=VALUE"), value: "NAME=VALUE",
    help: "A field of the follower's profile, for the template")

  static let all: [any DeclaredOption] = [template] + fillings
  private static let fillings: [any DeclaredOption] = [event, locale, fields]

  /// Those that say nothing without a template.
  static func refuseWithoutTemplate(_ invocation: Invocation) throws(CommandFailure) {
    let stray = fillings.first { invocation.isGiven($0) }
    guard let stray, !invocation.isGiven(template) else { return }
    throw CommandFailure(.usage, "--\(stray.declaration.name) goes with --template")
  }

  /// - Parameters:
  ///   - app: of an event that is made up.
  ///   - now: ms since 1970.
  static func rendered(
    _ invocation: Invocation, _ apple: CommandApple, app: String?, now: Int64
  ) throws(CommandFailure) -> RenderPreview {
    let template = try CommandTemplate.find(invocation[template] ?? "", apple.settings)
    let reader = EventReader(options: Assembly.ingestOptions(apple.settings), now: now)
    let read: ReadEvent
    if let path = invocation[event] {
      guard app == nil else {
        throw CommandFailure(.usage, "--app and --event do not go together: the event names it")
      }
      read = try reader.read(file: path)[0]
    } else {
      guard let app else {
        throw CommandFailure(.usage, "--app is needed, or --event with an event that names it")
      }
      read = try reader.read(flags: TemplatePreview.sampleEvent(app: app, now: now))
    }
    guard let event = read.event else {
      throw CommandFailure(.failed, "the end of a stream is shown to nobody")
    }
    guard !event.isExpired(at: now) else {
      throw CommandFailure(.failed, "\(read.name) has expired: a worker would not send it")
    }
    var person = RenderedPerson()
    for field in invocation[fields] { person.fields[field.name] = field.value }
    if let locale = invocation[locale] { person.fields["locale"] = locale }
    return try TemplatePreview(template, event).preview(person)
  }
}
