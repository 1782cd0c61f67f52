import JSON

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
    if pattern.contains("{") { all.insert("404") }
    return all.sorted()
  }
}
