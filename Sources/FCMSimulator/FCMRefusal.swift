import JSON

/// A status other than 200 with its body, as FCM and Google's front end write them.
package struct FCMRefusal: Sendable, Hashable {
  package enum Detail: Sendable, Hashable {
    /// google.firebase.fcm.v1.FcmError.
    case fcmError(String)
    /// google.rpc.BadRequest with one violation.
    case badRequest(field: String, description: String)
    /// google.rpc.QuotaFailure with one violation.
    case quotaFailure(subject: String, description: String)
    /// google.rpc.ErrorInfo.
    case errorInfo(reason: String)
  }

  package enum RetryAfter: Sendable, Hashable {
    case seconds(Int)
    /// A date (RFC 9110, section 5.6.7), so many seconds from now.
    case date(Int)
  }

  package var status: Int
  /// The name of google.rpc.Code.
  package var name: String
  package var message: String
  package var details: [Detail] = []
  package var retryAfter: RetryAfter?
  /// The body in the place of Google's JSON, as HTML; may be empty.
  package var body: String?

  package init(
    _ status: Int, _ name: String, _ message: String, _ details: [Detail] = [],
    retryAfter: RetryAfter? = nil, body: String? = nil
  ) {
    self.status = status
    self.name = name
    self.message = message
    self.details = details
    self.retryAfter = retryAfter
    self.body = body
  }

  /// Of FcmError, if there is one.
  package var errorCode: String? {
    for case .fcmError(let code) in details { return code }
    return nil
  }

  /// Pretty-printed, as Google's answers are: who looks for `"errorCode":"` finds nothing there.
  var text: String {
    if let body { return body }
    var error: [(String, JSONValue)] = [
      ("code", .integer(Int64(status))), ("message", .string(message)), ("status", .string(name)),
    ]
    if !details.isEmpty { error.append(("details", .array(details.map(\.json)))) }
    return PrettyJSON.text(["error": .object(JSONObject(error))])
  }
}

extension FCMRefusal.Detail {
  fileprivate var json: JSONValue {
    switch self {
    case .fcmError(let code):
      return [
        "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": .string(code),
      ]
    case .badRequest(let field, let description):
      // A violation of the request itself names no field.
      let members: [(String, JSONValue)] =
        (field.isEmpty ? [] : [("field", .string(field))]) + [("description", .string(description))]
      return [
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [.object(JSONObject(members))],
      ]
    case .quotaFailure(let subject, let description):
      return [
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [["subject": .string(subject), "description": .string(description)]],
      ]
    case .errorInfo(let reason):
      return [
        "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": .string(reason),
        "domain": "googleapis.com",
        "metadata": [
          "service": "fcm.googleapis.com",
          "method": "google.firebase.fcm.v1.FcmService.SendMessage",
        ],
      ]
    }
  }
}

/// JSON with a member a line and two spaces a level.
enum PrettyJSON {
  static func text(_ value: JSONValue) -> String { text(value, indent: "") + "\n" }

  private static func text(_ value: JSONValue, indent: String) -> String {
    let inner = indent + "  "
    switch value {
    case .object(let object) where !object.isEmpty:
      let members = object.members.map {
        "\(inner)\(JSONText.compact(.string($0.name))): \(text($0.value, indent: inner))"
      }
      return "{\n\(members.joined(separator: ",\n"))\n\(indent)}"
    case .array(let elements) where !elements.isEmpty:
      let lines = elements.map { inner + text($0, indent: inner) }
      return "[\n\(lines.joined(separator: ",\n"))\n\(indent)]"
    default: return JSONText.compact(value)
    }
  }
}
