import JSON
import Model
import Text

/// A push to one device, as a request.
package struct SinglePush: Sendable, Equatable {
  /// Lower-case hex digits.
  package let token: String
  package let headers: PushHeaders
  /// JSON.
  package let payload: String

  package init(token: String, headers: PushHeaders, payload: String) {
    self.token = token
    self.headers = headers
    self.payload = payload
  }

  package var request: AppleRequest {
    var fields: [AppleRequest.Field] = [
      .init("apns-topic", headers.topic), .init("apns-push-type", headers.pushType.rawValue),
      .init("apns-priority", String(headers.priority)),
      .init("apns-expiration", String(headers.expiration)),
    ]
    if let collapseID = headers.collapseID { fields.append(.init("apns-collapse-id", collapseID)) }
    return AppleRequest(path: "/3/device/" + token, fields: fields, body: payload)
  }

  /// Types whose payload says in `aps` what the system is to do; the others hand theirs to the app.
  private static let needsAps: Set<PushType> = [
    .alert, .background, .controls, .liveactivity, .widgets,
  ]

  /// The rule of Apple's that it breaks, if any ("Sending notification requests to APNs").
  package var flaw: String? {
    let type = headers.pushType
    let flaw = PayloadFlaw.of(
      payload, limit: type.maximumPayloadBytes, "\(type.rawValue) pushes",
      needsAps: Self.needsAps.contains(type))
    if let flaw { return flaw }
    if headers.pushType == .background, headers.priority == 10 {
      return "a background push must have priority 5, or 1"
    }
    if let id = headers.collapseID {
      if !(1...64).contains(id.utf8.count) { return "a collapse id has 1…64 bytes" }
      if id.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
        return "a collapse id has no control characters"
      }
    }
    return nil
  }
}

/// Flaws that Apple refuses in any payload, whatever it is sent to.
enum PayloadFlaw {
  /// - Parameters:
  ///   - limit: bytes.
  ///   - kind: what takes no more than those, in words.
  static func of(_ payload: String, limit: Int, _ kind: String, needsAps: Bool = true) -> String? {
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
