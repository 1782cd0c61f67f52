import HTTPServer
import Keyspace
import Text

/// The page's files, which the build embeds. They hold no data: anybody may read them.
package enum DashboardPage {
  /// The file's name in the folder `Page`, and its bytes.
  static let files: [(name: String, bytes: [UInt8])] = [
    ("index.html", PackageResources.index_html), ("style.css", PackageResources.style_css),
    ("icon.svg", PackageResources.icon_svg), ("acts.js", PackageResources.acts_js),
    ("app.js", PackageResources.app_js), ("dialog.js", PackageResources.dialog_js),
    ("dom.js", PackageResources.dom_js), ("fanout.js", PackageResources.fanout_js),
    ("fanouts.js", PackageResources.fanouts_js), ("health.js", PackageResources.health_js),
    ("letters.js", PackageResources.letters_js), ("net.js", PackageResources.net_js),
    ("templates.js", PackageResources.templates_js), ("text.js", PackageResources.text_js),
    ("user.js", PackageResources.user_js),
  ]

  private static let kinds = [
    "html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml",
  ]

  private struct File: Sendable {
    let response: HTTPResponse
    let tag: String
  }

  private static let responses: [ExactText: File] = {
    var responses: [ExactText: File] = [:]
    for (name, bytes) in files {
      let kind = kinds[name.split(separator: ".").last.map(String.init) ?? ""]
      let sum = bytes.withUnsafeBytes { CRC32.checksum($0) }
      let tag = "\"\(Hexadecimal.text(sum, digits: 8))-\(bytes.count)\""
      var headers = headers
      headers["ETag"] = tag
      responses[ExactText(name)] = File(
        response: HTTPResponse(
          status: 200, contentType: "\(kind ?? "application/octet-stream"); charset=utf-8",
          headers: headers, body: bytes), tag: tag)
    }
    return responses
  }()

  /// Nothing of another host is loaded, and no other page may frame this one.
  private static let headers = [
    "Content-Security-Policy":
      "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
  ]

  /// The file, or that the browser has it already; nil: there is none of this name.
  /// - Parameter tags: what the browser has, as `If-None-Match` says it.
  package static func response(to name: String, known tags: String?) -> HTTPResponse? {
    guard let file = responses[ExactText(name)] else { return nil }
    guard tags?.contains(file.tag) == true else { return file.response }
    var response = file.response
    response.status = 304
    response.body = []
    return response
  }
}
