import HTTPServer
import JSON
import Text

/// A request that may be done: whose it is, and what its path names.
struct APIRequest {
  let http: HTTPRequest
  /// Values of the route's placeholders.
  let names: [String: String]
  let key: APIKey
  /// The request's name in answers, log lines and audit lines.
  let id: String
  /// Of the body, by its route.
  let maximumBodyBytes: Int
  /// Further fields of its audit line.
  let notes = AuditNotes()

  /// The value of a placeholder of the route's pattern.
  subscript(_ name: String) -> String { names[name] ?? "" }

  /// Whether the key may write to users: it then sees whole tokens and payloads. A read-only key
  /// does not.
  var isTrusted: Bool { key.scope >= .appServer }

  /// The members of the body, which is a JSON object.
  ///
  /// - Parameter allowed: others are refused: a name with a typing mistake would be lost unseen.
  func object(_ allowed: Set<String>) throws(Problem) -> JSONObject {
    try requireType("application/json")
    let object = try document()
    for member in object.members where !allowed.contains(member.name) {
      let known = allowed.sorted().joined(separator: ", ")
      throw Problem(.invalid, "the body has an unknown member; those known here are: \(known)")
    }
    return object
  }

  /// The body, which is a JSON object with whatever members.
  func document() throws(Problem) -> JSONObject {
    let value: JSONValue
    do {
      value = try JSONValue.parse(http.body, maximumBytes: maximumBodyBytes)
    } catch {
      throw Problem(.malformedRequest, "the body is no JSON: \(error)")
    }
    guard let object = value.object else {
      throw Problem(.malformedRequest, "the body is a JSON object, not \(value.kindName)")
    }
    return object
  }

  /// In Unicode scalars, as JSON Schema counts them.
  static let maximumReason = 512

  /// Why somebody acts, as the body's `reason` says; empty: it says nothing. The audit line has it.
  func reason(in body: JSONObject) throws(Problem) -> String {
    let reason = try body.text("reason") ?? ""
    guard reason.unicodeScalars.count <= Self.maximumReason else {
      throw Problem(.invalid, "reason has at most \(Self.maximumReason) characters")
    }
    if !reason.isEmpty { notes.add("reason", reason) }
    return reason
  }

  func refuseCoding() throws(Problem) {
    if let coding = http.headers["content-encoding"],
      !coding.isSame(ignoringASCIICaseOf: "identity")
    {
      throw Problem(.unsupportedMediaType, "send the body as it is, without Content-Encoding")
    }
  }

  /// - Parameter others: types that are read, too.
  func requireType(_ type: String, or others: [String] = []) throws(Problem) {
    try refuseCoding()
    let given = http.headers["content-type"] ?? ""
    if given == type { return }
    let essence = given.split(separator: ";").first.map { $0.lowercased() } ?? ""
    let bare = String(essence.drop { $0 == " " }.prefix { $0 != " " })
    guard ([type] + others).contains(bare) else {
      throw Problem(.unsupportedMediaType, "send Content-Type: \(type)")
    }
  }

  /// A whole number in the query; nil without it.
  func integer(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
    guard let text = try argument(name) else { return nil }
    guard let number = Int(text), range.contains(number), text.utf8.first != 0x2B else {
      throw Problem(.invalid, "\(name) is a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Of the query; nil without it.
  func argument(_ name: String) throws(Problem) -> String? {
    let found = http.query.filter { $0.name == name }
    guard found.count <= 1 else { throw Problem(.malformedRequest, "\(name) comes twice") }
    return found.first.map { $0.value ?? "" }
  }

  func allowArguments(_ allowed: Set<String>) throws(Problem) {
    for argument in http.query where !allowed.contains(argument.name) {
      let known = allowed.isEmpty ? "none" : allowed.sorted().joined(separator: ", ")
      throw Problem(
        .malformedRequest, "the query has an unknown argument; those known here are: \(known)")
    }
  }
}

extension JSONObject {
  /// nil where it is missing.
  func text(_ name: String) throws(Problem) -> String? {
    guard let value = self[name] else { return nil }
    guard let text = value.string else {
      throw Problem(.invalid, "\(name) is a string, not \(value.kindName)")
    }
    return text
  }

  func required(_ name: String) throws(Problem) -> String {
    guard let text = try text(name) else { throw Problem(.invalid, "\(name) is missing") }
    return text
  }

  /// A count from 0 to 2,147,483,647; nil where it is missing.
  func count(_ name: String) throws(Problem) -> Int64? {
    guard let value = self[name] else { return nil }
    guard let number = value.wholeNumber, (0...Self.maximumCount).contains(number) else {
      throw Problem(.invalid, "\(name) is a whole number from 0 to \(Self.maximumCount)")
    }
    return number
  }

  static let maximumCount = Int64(Int32.max)

  func flag(_ name: String) throws(Problem) -> Bool? {
    guard let value = self[name] else { return nil }
    guard let flag = value.bool else {
      throw Problem(.invalid, "\(name) is true or false, not \(value.kindName)")
    }
    return flag
  }
}
