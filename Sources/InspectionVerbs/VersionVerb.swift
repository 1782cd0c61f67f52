import Terminal
import Versions

package enum VersionVerb {
  private static let json = Option(flag: "json", help: "Print one JSON object")

  /// - Parameter version: of this release.
  package static func verb(version: String) -> Verb {
    Verb(
      "version", summary: "Show the versions of Fanfare and of the libraries in use",
      options: [json],
      examples: [
        .init("fanfare version", "Print the versions, for example for a bug report"),
        .init("fanfare version --json", "Print the versions for a script"),
      ], exitCodes: [.ok]
    ) { invocation in
      guard invocation[json] else {
        var text = "fanfare \(version)\n"
        for (name, version) in LibraryVersions.all {
          text += "  \(TextLayout.padded(name, to: 12))\(version)\n"
        }
        invocation.output.write(text)
        return .ok
      }
      var object: Terminal.JSONObject = ["fanfare": .text(version)]
      for (name, version) in LibraryVersions.all { object[name] = .text(version) }
      invocation.output.line(JSONOutput.object(object).serialized())
      return .ok
    }
  }
}
