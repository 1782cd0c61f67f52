import JSON

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
    guard let object = (try? JSONValue.parse(Array(payload.utf8)))?.object else {
      return "the payload is no JSON object"
    }
    return needsAps && object["aps"] == nil ? "the payload has no aps" : nil
  }
}
