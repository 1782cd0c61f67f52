import JSON

/// A payload as a strict reader takes it, its members named by dotted paths.
struct StrictJSON {
  let value: JSONValue

  init(_ bytes: [UInt8]) throws { value = try JSONValue.parse(bytes) }

  init(_ text: String) throws { try self.init(Array(text.utf8)) }

  subscript(path: String) -> JSONValue? {
    var current = value
    for key in path.split(separator: ".") {
      guard let next = current.object?[String(key)] else { return nil }
      current = next
    }
    return current
  }

  func text(_ path: String) -> String? { self[path]?.string }
}
