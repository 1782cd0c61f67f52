import API
import Terminal

/// Makes a key for somebody who is to use the API.
package enum APIKeyVerb {
  private static let name = Argument<String>(
    required: "name", .text, help: "The key's owner, as audit lines show it, such as app-backend")
  private static let scope = Option(
    "scope", .choice(), default: APIScope.appServer, value: "SCOPE",
    help: "What the key allows")
  private static let json = Option(flag: "json", help: "Print one JSON object")

  package static let verb = Verb(
    "api-key", summary: "Create a key for the API",
    discussion: """
      Prints a key, and a line for api.keys_file. Give the key to its owner: it is stored nowhere \
      else, and the line holds only its digest. A running server accepts the key within 5 seconds \
      after you add the line. Remove the line to revoke the key.

      read-only can read. app-server can also bind devices, change follows, forget users and send \
      events. admin can also pause, resume and cancel fan-outs.
      """,
    options: [scope, json], arguments: [name],
    examples: [
      .init("fanfare api-key app-backend --scope app-server", "Create a key for the app's backend")
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
