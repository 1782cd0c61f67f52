import Preview
import PushSupport
import Terminal
import VerbSupport

/// `template …`: for who writes the texts.
package enum TemplateVerb {
  static let json = Option(flag: "json", help: "Print JSON")

  package static let verb = Verb(
    group: "template", summary: "Check, test, compare and preview templates",
    discussion: """
      These verbs read files, and send nothing. Only `preview --user` reads from Redis. \
      docs/templates.md explains templates and their tests.
      """,
    options: [json] + ConfigurationOptions.all,
    verbs: [lint, TemplateTestVerb.verb, TemplateDiffVerb.verb, TemplatePreviewVerb.verb],
    examples: [
      .init("fanfare template preview go-live.yaml --watch", "Show all languages while you write"),
      .init("fanfare template test Config/templates", "Run the tests of all templates"),
      .init("fanfare template diff old/ new/", "Show what readers would see changed"),
    ])

  private static let path = Argument<String?>(
    "path", .path, help: "A template's file or a directory; by default templates.directory")

  private static let lint = Verb(
    "lint", summary: "List the mistakes in templates",
    discussion: "Lists what `fanfare check` and the worker say of templates, and needs no key.",
    arguments: [path],
    examples: [.init("fanfare template lint Config/templates", "Check a directory")],
    exitCodes: [.ok, .failed, .config]
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let read = CommandTemplates(invocation[path], try invocation.loadSettings())
    if invocation[json] {
      func list(_ texts: [String]) -> JSONOutput { .array(texts.map { .text($0) }) }
      let report: JSONOutput = [
        "templates": list(read.templates.map(\.name)), "problems": list(read.problems),
        "warnings": list(read.warnings),
      ]
      invocation.output.line(report.serialized())
    } else {
      for problem in read.problems { invocation.output.line(TextLayout.printable(problem)) }
      for warning in read.warnings {
        invocation.output.line(TextLayout.printable("warning: \(warning)"))
      }
      let names = read.templates.map(\.name).joined(separator: ", ")
      invocation.output.line(
        "\(read.problems.count) mistakes; sound: \(names.isEmpty ? "none" : names)")
    }
    return read.problems.isEmpty ? .ok : .failed
  }
}
