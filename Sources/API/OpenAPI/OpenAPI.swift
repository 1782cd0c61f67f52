import JSON

/// The API as OpenAPI 3.1 has it: what every operation has in common is written here, and the rest
/// stands in `OpenAPIOperations`. `docs/openapi.json` is this document, and so is what a server
/// answers.
package enum OpenAPI {
  static var route: APIRoute {
    APIRoute("GET", "/openapi.json", nil) { (_) async throws(Problem) in
      APIResponse(status: 200, body: document)
    }
  }

  static let document: JSONValue = object([
    ("openapi", "3.1.0"),
    (
      "info",
      object([
        ("title", "Fanfare"), ("version", "1"),
        ("license", object([("name", "see the repository")])),
        ("description", .string(introduction)),
      ])
    ),
    ("servers", .array([object([("url", "/")])])),
    ("security", .array([object([("key", .array([]))])])),
    ("paths", paths),
    (
      "components",
      object([
        (
          "securitySchemes",
          object([("key", object([("type", "http"), ("scheme", "bearer")]))])
        ),
        ("schemas", OpenAPISchemas.all),
        ("responses", problems),
      ])
    ),
  ])

  /// As `docs/openapi.json` has it.
  package static var text: String { JSONText.compact(document) }

  private static let introduction =
    "The API for devices at login and logout, profiles, follows and events. Every error is "
    + "application/problem+json (RFC 9457). PUT and DELETE can be repeated safely, and a POST "
    + "with the header Idempotency-Key is done only once. See docs/api.md."

  // MARK: paths

  private static var paths: JSONValue {
    var paths = JSONObject()
    for operation in OpenAPIOperations.all {
      var path = paths[operation.pattern]?.object ?? JSONObject(parameters(operation.pattern))
      path[operation.method.lowercased()] = describe(operation)
      paths[operation.pattern] = .object(path)
    }
    return .object(paths)
  }

  private static func parameters(_ pattern: String) -> [(String, JSONValue)] {
    let names = pattern.split(separator: "/").filter { $0.hasPrefix("{") }
      .map { String($0.dropFirst().dropLast()) }
    guard !names.isEmpty else { return [] }
    let parameters = names.map { name in
      object([
        ("name", .string(name)), ("in", "path"), ("required", .bool(true)),
        ("schema", reference("schemas", OpenAPISchemas.pathNames[name] ?? "Identifier")),
      ])
    }
    return [("parameters", .array(parameters))]
  }

  private static func describe(_ operation: OpenAPIOperation) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("operationId", .string(operation.name)), ("summary", .string(operation.summary)),
    ]
    if let scope = operation.scope {
      members.append(
        ("description", .string("Needs a key of scope \(scope.rawValue) or higher.")))
    } else {
      members.append(("security", .array([])))
    }
    var parameters = operation.query.map { name, schema in
      object([
        ("name", .string(name)), ("in", "query"), ("required", .bool(false)), ("schema", schema),
      ])
    }
    if operation.method == "POST", operation.isDoneOnce {
      parameters.append(
        object([
          ("name", "Idempotency-Key"), ("in", "header"), ("required", .bool(false)),
          ("schema", reference("schemas", "IdempotencyKey")),
        ]))
    }
    if !parameters.isEmpty { members.append(("parameters", .array(parameters))) }
    if let body = operation.body {
      let content = JSONObject(body.types.map { ($0, object([("schema", body.schema)])) })
      members.append(
        (
          "requestBody",
          object([("required", .bool(body.isRequired)), ("content", .object(content))])
        ))
    }
    members.append(("responses", responses(operation)))
    return object(members)
  }

  private static func responses(_ operation: OpenAPIOperation) -> JSONValue {
    var responses = operation.answers.map { status, what, schema in
      var members: [(String, JSONValue)] = [("description", .string(what))]
      if let schema {
        members.append(("content", object([("application/json", object([("schema", schema)]))])))
      }
      return (String(status), object(members))
    }
    for code in operation.problems { responses.append((code, reference("responses", "Problem"))) }
    return object(responses)
  }

  private static let problems: JSONValue = object([
    (
      "Problem",
      object([
        ("description", "The reason why the request failed"),
        (
          "content",
          object([
            ("application/problem+json", object([("schema", reference("schemas", "Problem"))]))
          ])
        ),
      ])
    )
  ])

  static func reference(_ kind: String, _ name: String) -> JSONValue {
    object([("$ref", .string("#/components/\(kind)/\(name)"))])
  }

  static func object(_ members: [(String, JSONValue)]) -> JSONValue {
    .object(JSONObject(members))
  }
}

/// A route as it is documented.
struct OpenAPIOperation {
  struct Body {
    let types: [String]
    let schema: JSONValue
    var isRequired = true
  }

  let method: String
  let pattern: String
  let name: String
  let scope: APIScope?
  let summary: String
  var query: [(String, JSONValue)] = []
  var body: Body?
  /// Those without a schema have no body.
  let answers: [(status: Int, what: String, schema: JSONValue?)]
  /// Statuses of its own, besides those that every operation has.
  var own: [String] = []
  /// A POST is done once with an `Idempotency-Key`.
  var isDoneOnce = true

  var problems: [String] {
    let common = scope == nil ? ["400"] : ["400", "401", "403", "422", "429", "500", "503"]
    var all = Set(common + own)
    if body != nil { all.formUnion(["413", "415"]) }
    if method == "POST" { all.insert("409") }
    // A value in a path may be longer than a head.
    if pattern.contains("{") { all.formUnion(["404", "431"]) }
    return all.sorted()
  }
}
