import SingleRequests
import Terminal
import Transport

/// A request as it would go out, but for the credentials.
package enum RequestText {
  package static func text(_ request: AppleRequest, to endpoint: Endpoint) -> String {
    var text = "\(request.method) https://\(endpoint.authority)\(request.path)\n"
    for field in request.fields {
      text += "\(field.name): \(TextLayout.printable(field.value))\n"
    }
    guard !request.body.isEmpty else { return text + "nothing was sent\n" }
    let body = value(request.body)?.serialized(indented: true)
    text += "\n\(body ?? TextLayout.printable(request.body))\n"
    return text + "\(request.body.utf8.count) bytes; nothing was sent\n"
  }

  package static func json(_ request: AppleRequest, to endpoint: Endpoint) -> JSONOutput {
    var headers = Terminal.JSONObject()
    for field in request.fields { headers[field.name] = .text(field.value) }
    return [
      "method": .text(request.method),
      "url": .text("https://\(endpoint.authority)\(request.path)"),
      "headers": .object(headers),
      "payload": value(request.body) ?? (request.body.isEmpty ? .null : .text(request.body)),
      "bytes": .integer(request.body.utf8.count),
    ]
  }

  private static func value(_ text: String) -> JSONOutput? {
    JSONOutput(json: text)
  }
}
