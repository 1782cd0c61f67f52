import Preview
import PushSupport
import Terminal
import VerbSupport

/// Shows a template as phones show it.
enum TemplatePreviewVerb {
  private static let template = Argument(
    required: "template", .path,
    help: "The path of a template's file, or its name in templates.directory")
  private static let watch = Option(
    flag: "watch", short: "w", help: "Draw again when the template or the event's file changes")
  private static let interval: Duration = .milliseconds(300)

  static let verb = Verb(
    "preview", summary: "Show all languages side by side, as a phone shows them",
    discussion: """
      Each card has one line of title and four of text, as the lock screen of a phone of usual \
      size; real phones differ. Below it are the bytes of each platform's message, and the texts \
      that the locale lacks and borrows from another one. Values that are missing are named at the \
      end. --field overrides what Redis says about --user.
      """,
    options: [PreviewSubject.event, PreviewSubject.user, PreviewSubject.fields, watch],
    arguments: [template],
    examples: [
      .init("fanfare template preview go-live.yaml --watch", "Show all languages while you write"),
      .init(
        "fanfare template preview go-live --user u1 --event event.json",
        "Show what a real event says to a real user, in all languages"),
    ], exitCodes: [.ok, .failed, .unavailable, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    guard invocation[watch] else {
      try await show(invocation)
      return .ok
    }
    let signals = StopSignals.catchAll()
    var seen: [WatchedFile]?
    while !signals.isRaised {
      let files = try watched(invocation)
      if files != seen {
        seen = files
        invocation.output.clear()
        do throws(CommandFailure) {
          try await show(invocation)
        } catch {
          // It is mended in a moment.
          for finding in error.findings { invocation.output.line(TextLayout.printable(finding)) }
          invocation.output.line(TextLayout.printable(error.message))
        }
      }
      try? await Task.sleep(for: interval)
    }
    return .ok
  }

  /// The bytes of a file; nil while it cannot be read.
  private typealias WatchedFile = [UInt8]?

  private static let maximumBytes = 1 << 20

  private static func watched(
    _ invocation: Invocation
  ) throws(CommandFailure) -> [WatchedFile] {
    let template = CommandTemplate.file(invocation[template], try invocation.loadSettings())
    return [template, invocation[PreviewSubject.event]].map { path in
      path.flatMap { try? CommandFile.read($0, maximumBytes: maximumBytes).bytes }
    }
  }

  private static func show(_ invocation: Invocation) async throws(CommandFailure) {
    let subject = try await PreviewSubject.read(invocation[template], invocation)
    subject.warn(invocation)
    let phone = try PhonePreview(subject.template, subject.event, subject.person)
    if invocation[TemplateVerb.json] {
      for line in phone.json { invocation.output.line(line.serialized()) }
      return
    }
    let output = invocation.output
    output.write(phone.text(width: output.width, unicode: output.capabilities.unicode))
    if let devices = subject.person.devices { output.line(PreviewText.words(devices)) }
  }
}
