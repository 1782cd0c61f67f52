import Assembly
import Emission
import Model
import Preview
import PushSupport
import Render
import Terminal
import VerbSupport

/// Compares two versions of templates.
enum TemplateDiffVerb {
  private static let old = Argument(
    required: "old", .path, help: "A template's file, or a directory of templates")
  private static let new = Argument(
    required: "new", .path, help: "The file or directory to compare it with")

  static let verb = Verb(
    "diff", summary: "Show what readers would see changed",
    discussion: """
      Renders both versions for each locale and platform, with all values and with none, and shows \
      what differs: texts, sizes, locales, values and settings. Changes that no reader would see, \
      such as comments, do not count. The exit code is 0 if there is no difference, and 1 if there \
      is one.
      """,
    arguments: [old, new],
    examples: [
      .init("fanfare template diff go-live.yaml new/go-live.yaml", "Compare two files"),
      .init("fanfare template diff templates new-templates", "Compare two directories"),
    ], exitCodes: [.ok, .failed, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let settings = try invocation.loadSettings()
    let now = invocation.nowMilliseconds
    let before = try CommandTemplates.sound(invocation[old], settings)
    let after = try CommandTemplates.sound(invocation[new], settings)
    let event = try EventReader(options: Assembly.ingestOptions(settings), now: now)
      .read(flags: TemplatePreview.sampleEvent(now: now)).event
    guard let event else { throw CommandFailure(.failed, "the sample is no event") }
    let report = report(
      before, after, isOfFiles: [old, new].map { !CommandTemplates.isDirectory(invocation[$0]) },
      event)
    if invocation[TemplateVerb.json] {
      invocation.output.line(report.json.serialized())
    } else {
      invocation.output.write(report.text)
    }
    return report.isEmpty ? .ok : .failed
  }

  /// - Parameter isOfFiles: whether each side is one template's file, which may have any name.
  private static func report(
    _ before: [Template], _ after: [Template], isOfFiles: [Bool], _ event: Event
  ) -> TemplateDiffReport {
    if isOfFiles == [true, true] {
      return TemplateDiffReport(
        added: [], removed: [],
        changed: [TemplateDiff(old: before[0], new: after[0], event: event)])
    }
    let isOfDirectories = isOfFiles == [false, false]
    return TemplateDiffReport(
      added: isOfDirectories || isOfFiles[1] ? names(after, besides: before) : [],
      removed: isOfDirectories || isOfFiles[0] ? names(before, besides: after) : [],
      changed: after.compactMap { new in
        before.first { $0.name == new.name }.map { TemplateDiff(old: $0, new: new, event: event) }
      })
  }

  private static func names(_ templates: [Template], besides others: [Template]) -> [String] {
    templates.map(\.name).filter { name in !others.contains { $0.name == name } }
  }
}
