import Checks
import Terminal
import VerbSupport

/// Shows the configuration as a process would use it, and what it may hold.
package enum ConfigVerb {
  package static let verb = Verb(
    group: "config", summary: "Show the configuration in use, and what it may hold",
    verbs: [show, schema],
    examples: [.init("fanfare config show", "Show every setting, its value and who set it")])

  private static let prefix = Argument<String?>(
    "prefix", .text, help: "Only settings that begin with this text, such as redis")
  private static let changed = Option(
    flag: "changed", help: "Leave out the settings that have their defaults")
  private static let json = Option(flag: "json", help: "Print one JSON object")

  private static let show = Verb(
    "show", summary: "Show each setting with its value and where that comes from",
    discussion: """
      A value comes from the default, the file (with line and column), an environment variable, \
      a flag, or the file of a secret. Secrets are not shown. Nothing is connected to.

      If a setting is wrong, it is shown as its default, the mistakes are written to standard \
      error, and the exit code is 78.
      """,
    options: [changed, json] + ConfigurationOptions.all, arguments: [prefix],
    examples: [
      .init("fanfare config show --changed", "Show what differs from the defaults, and who set it"),
      .init("fanfare config show kafka.topics", "Show the names of the topics"),
      .init(
        "fanfare config show --json | jq -r '.settings[] | select(.key == \"redis.host\").value'",
        "Print one value for a script"),
    ], exitCodes: [.ok, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let prefix = invocation[prefix]
    if let complaint = prefix.flatMap({ ConfigurationListing.complaint(aboutPrefix: $0) }) {
      throw CommandFailure(.usage, complaint)
    }
    let report = invocation.settingsReport()
    for finding in report.findings {
      invocation.errors.line(TextLayout.printable(finding.description))
    }
    let listing = ConfigurationListing(
      report, file: invocation.configurationFile, prefix: prefix,
      onlyChanged: invocation[changed])
    if invocation[json] {
      invocation.output.line(listing.json.serialized())
    } else {
      listing.write(to: invocation.output)
    }
    return listing.exitCode
  }

  private static let schema = Verb(
    "schema", summary: "Print a JSON Schema of the configuration file",
    discussion: """
      Editors use it to complete and check fanfare.yaml. It is a little stricter than the \
      program: an unknown key, which is a warning there, and a number in quotes do not pass.
      """,
    examples: [
      .init("fanfare config schema > fanfare.schema.json", "Write the schema to a file")
    ], exitCodes: [.ok]
  ) { invocation in
    invocation.output.line(ConfigurationSchema.json.serialized(indented: true))
    return .ok
  }
}
