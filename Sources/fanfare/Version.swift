import HTTP2
import JSON
import Kafka
import Redis
import TLS
import Terminal
import YAML

enum VersionVerb {
  private static let json = Option(flag: "json", help: "Print one JSON object")

  static let verb = Verb(
    "version", summary: "Show the version, and those of the libraries in use",
    options: [json],
    examples: [
      .init("fanfare version", "For people, and for the report of a fault"),
      .init("fanfare version --json", "For scripts"),
    ], exitCodes: [.ok]
  ) { invocation in
    guard invocation[json] else {
      var text = "fanfare \(Fanfare.version)\n"
      for (name, version) in libraries {
        text += "  \(TextLayout.padded(name, to: 12))\(version)\n"
      }
      invocation.output.write(text)
      return .ok
    }
    var object: Terminal.JSONObject = ["fanfare": .text(Fanfare.version)]
    for (name, version) in libraries { object[name] = .text(version) }
    invocation.output.line(JSONOutput.object(object).serialized())
    return .ok
  }

  /// As loaded at run time, except hiredis, which does not tell: as compiled against.
  static var libraries: [(name: String, version: String)] {
    [
      ("librdkafka", KafkaVersion.string), ("nghttp2", HTTP2Version.string),
      ("openssl", TLSVersion.string), ("hiredis", RedisLibraryVersion.string),
      ("jansson", JSONLibraryVersion.string), ("libyaml", YAMLLibraryVersion.string),
    ]
  }
}
