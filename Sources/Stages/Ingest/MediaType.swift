/// A media type as `Content-Type` and CloudEvents' `datacontenttype` write it (RFC 9110, 8.3.1).
/// Parameters are passed over: of JSON they say nothing (RFC 8259, 11).
package struct MediaType {
  /// `application/json`: in lower case.
  private let essence: String

  package init(_ text: String) {
    let beginning = text.prefix { $0 != ";" }
    let bare = beginning.drop(while: Self.isSpace)
    essence = bare.prefix { !Self.isSpace($0) }.lowercased()
  }

  private static func isSpace(_ character: Character) -> Bool {
    character == " " || character == "\t"
  }

  package var isEmpty: Bool { essence.isEmpty }

  /// Also `application/vnd.example+json` (RFC 6839).
  package var isJSON: Bool {
    ["application/json", "text/json"].contains(essence)
      || (essence.hasSuffix("+json") && essence.contains("/"))
  }

  /// An envelope of CloudEvents, of JSON or another format.
  package var isCloudEvent: Bool { essence.hasPrefix("application/cloudevents+") }

  package var isCloudEventsBatch: Bool { essence.hasPrefix("application/cloudevents-batch") }

  /// As a reason may show it.
  package var quoted: String { Excerpt.quoted(essence) }
}
