import Terminal

/// What one request to Apple takes by flags, whatever it asks for.
enum RequestFlags {
  static let all: [any DeclaredOption] = [dryRun, timeout, json]

  static let dryRun = Option(
    flag: "dry-run", help: "Show the request, but for the credentials, and send nothing")
  static let timeout = Option(
    "timeout", .duration(in: .milliseconds(100) ... .seconds(300)), default: .seconds(10),
    help: "How long Apple may take")
  static let json = Option(flag: "json", help: "Print one JSON object")
}
