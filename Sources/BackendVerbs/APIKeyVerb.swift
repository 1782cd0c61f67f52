import API
import Terminal

/// Makes a key for somebody who is to use the API.
package enum APIKeyVerb {
  private static let name = Argument<String>(
    required: "name", .text, help: "Whose it is, for audit lines: app-backend")
  private static let scope = Option(
    "scope", .choice(), default: APIScope.appServer, value: "SCOPE",
    help: "What it may do: read-only, app-server, admin")
  private static let json = Option(flag: "json", help: "Print one JSON object")

  package static let verb = Verb(
    "api-key", summary: "Make a key for the API",
    discussion: """
      Prints the key, which goes to whoever is to use it and is kept nowhere else, and the line \
      for api.keys_file, which holds only its digest. A server takes the line up within 5 seconds; \
      taking it out revokes the key.

      read-only may look; app-server may also bind, follow, forget and send events; admin may also \
      pause, resume and cancel fan-outs.
      """,
    options: [scope, json], arguments: [name],
    examples: [
      .init("fanfare api-key app-backend --scope app-server", "For the backend of the app")
    ], exitCodes: [.ok, .usage]
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let name = invocation[name]
    guard APIKey.isName(name) else {
      throw CommandFailure(.usage, "a name is 1 to 64 of the characters A-Z a-z 0-9 . _ -")
    }
    let (secret, line) = APIKey.make(name: name, scope: invocation[scope])
    if invocation[json] {
      let object: JSONOutput = ["key": .text(secret), "line": .text(line)]
      invocation.output.line(object.serialized())
    } else {
      var summary = Summary()
      summary.add("key", secret, note: "it is not shown again")
      summary.add("line", line, note: "for api.keys_file")
      summary.write(to: invocation.output)
    }
    return .ok
  }
}
