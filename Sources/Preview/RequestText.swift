import SingleRequests
import Terminal
import Transport

/// A request as it would go out, but for the credentials.
package enum RequestText {
  /// - Parameter plain: what an encrypted body says.
  package static func text(
    _ request: AppleRequest, to endpoint: Endpoint, plain: String? = nil
  ) -> String {
    var text = "\(request.method) https://\(endpoint.authority)\(request.path)\n"
    for field in request.fields {
      text += "\(field.name): \(TextLayout.printable(field.value))\n"
    }
    let plain = plain ?? request.body
    guard !plain.isEmpty else { return text + "nothing was sent\n" }
    let body = value(plain)?.serialized(indented: true)
    text += "\n\(body ?? TextLayout.printable(plain))\n"
    let sealed = request.sealedBody.map { ", \($0.count) encrypted" } ?? ""
    return text + "\(plain.utf8.count) bytes\(sealed); nothing was sent\n"
  }

  package static func json(
    _ request: AppleRequest, to endpoint: Endpoint, plain: String? = nil
  ) -> JSONOutput {
    let plain = plain ?? request.body
    var headers = Terminal.JSONObject()
    for field in request.fields { headers[field.name] = .text(field.value) }
    return [
      "method": .text(request.method),
      "url": .text("https://\(endpoint.authority)\(request.path)"),
      "headers": .object(headers),
      "payload": value(plain) ?? (plain.isEmpty ? .null : .text(plain)),
      "bytes": .integer(request.sealedBody?.count ?? plain.utf8.count),
    ]
  }

  private static func value(_ text: String) -> JSONOutput? {
    JSONOutput(json: text)
  }
}
