import Checkout
import Devices
import JSON
import Keyspace
import Redis
import Testing

@testable import API

/// What is documented is what is there.
@Suite struct OpenAPITests {
  @Test func everyRouteIsDocumentedAndNothingElse() async throws {
    try await APIBed.run { bed in
      let routes = await bed.server.routes
      let documented = OpenAPIOperations.all.map {
        "\($0.method) \($0.pattern) \(Self.name($0.scope))"
      }
      #expect(
        routes.map { "\($0.method) \($0.pattern) \(Self.name($0.scope))" }.sorted()
          == documented.sorted())
      #expect(Set(OpenAPIOperations.all.map(\.name)).count == documented.count)
    }
  }

  private static func name(_ scope: APIScope?) -> String { scope?.rawValue ?? "anybody" }

  /// `UPDATE_OPENAPI=1` writes it.
  @Test func theFileIsCurrent() throws {
    let text = OpenAPI.text + "\n"
    let file = try Checkout.made("docs/openapi.json", from: text, variable: "UPDATE_OPENAPI")
    // Not shown when it differs: it is one line of many pages.
    let isCurrent = file == text
    #expect(isCurrent, "UPDATE_OPENAPI=1 writes it")
  }

  @Test func everyReferenceLeadsSomewhere() throws {
    var dangling: [String] = []
    Self.walk(OpenAPI.document) { reference in
      let parts = reference.dropFirst("#/".count).split(separator: "/").map(String.init)
      var node: JSONValue? = OpenAPI.document
      for part in parts { node = node?.object?[part] }
      if node == nil { dangling.append(reference) }
    }
    #expect(dangling.isEmpty)
  }

  /// A client may hold against the document what a device says of its language.
  @Test(arguments: [
    "ja", "zh-Hant-TW", "es-419", "yue-HK", "nan-TW", "wuu", "hak", "fil-PH", "haw-US", "chr",
    "ckb-IQ", "gsw-CH", "kok-IN", "mni-Mtei-IN", "sat-Olck-IN", "az-Latn-AZ",
  ])
  func localesOfDevicesAreOfTheDocumentsPatternAndTaken(locale: String) throws {
    var node: JSONValue? = OpenAPI.document
    for part in [
      "paths", "/v1/users/{user}/profile", "patch", "requestBody", "content", "application/json",
      "schema", "properties", "locale", "pattern",
    ] { node = node?.object?[part] }
    let pattern = try Regex(try #require(node?.string))
    #expect(locale.wholeMatch(of: pattern) != nil)
    #expect("zh-Hant-tw".wholeMatch(of: pattern) == nil)
    #expect(throws: Never.self) { _ = try ProfilePatch([(ProfilePatch.locale, locale)]) }
  }

  private static func walk(_ value: JSONValue, _ found: (String) -> Void) {
    switch value {
    case .object(let object):
      for member in object.members {
        if member.name == "$ref", let text = member.value.string { found(text) }
        walk(member.value, found)
      }
    case .array(let elements): for element in elements { walk(element, found) }
    default: return
    }
  }
}
