import JSON
import Text

/// What Apple would refuse of any payload, whatever it is sent to.
enum PayloadFlaw {
  /// - Parameters:
  ///   - limit: bytes.
  ///   - kind: what takes no more than those, in words.
  static func of(
    _ payload: String, limit: Int, _ kind: String, needsAps: Bool = true
  ) -> String? {
    let size = payload.utf8.count
    guard size <= limit else { return "the payload has \(size) bytes, and \(kind) take \(limit)" }
    let value: JSONValue
    do {
      value = try JSONValue.parseWithAnyIntegers(Array(payload.utf8))
    } catch {
      return "the payload is no JSON: \(error)"
    }
    guard let object = value.object else {
      return "the payload is a JSON object, not \(value.kindName)"
    }
    return needsAps && object["aps"] == nil
      ? "the payload has no aps: its members are \(names(object))" : nil
  }

  private static func names(_ object: JSONObject) -> String {
    let names = object.members.prefix(8).map { JSONString.quoted(String($0.name.prefix(32))) }
    let rest = object.count > names.count ? ", …" : ""
    return names.isEmpty ? "none" : names.joined(separator: ", ") + rest
  }
}
