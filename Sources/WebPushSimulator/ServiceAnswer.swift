import JSON

/// What is wrong with a request, or what a fault says. Each service says it in its own way.
package struct WebPushRefusal: Error, Sendable, Hashable {
  package enum Reason: String, CaseIterable, Sendable {
    case badMethod = "bad_method"
    /// The address is no subscription's, and never was.
    case unknownSubscription = "unknown_subscription"
    case gone
    case noTTL = "no_ttl"
    case badTTL = "bad_ttl"
    case badUrgency = "bad_urgency"
    case badTopic = "bad_topic"
    case badEncoding = "bad_encoding"
    /// The headers of encodings before RFC 8291.
    case oldEncryption = "old_encryption"
    /// Not a message for this subscription. No real service knows: a browser throws it away.
    case unreadable
    /// Of WNS alone: it must say `no-cache` with a TTL of 0, and `cache` with any other.
    case badCachePolicy = "bad_cache_policy"
    case badRequest = "bad_request"
    case tooLarge = "too_large"
    case noAuthorization = "no_authorization"
    /// Not of the scheme `vapid`, or without its parameters.
    case badAuthorization = "bad_authorization"
    case badToken = "bad_token"
    case badKey = "bad_key"
    /// The token is in order, and of another key than the subscription's.
    case otherKey = "other_key"
    case tooMany = "too_many"
    /// 406, as WNS throttles.
    case throttled
    case redirect
    case internalError = "internal"
    case badGateway = "bad_gateway"
    case unavailable
  }

  package var reason: Reason
  /// For people.
  package var text: String
  /// Seconds; nil: what is usual for the service.
  package var retryAfter: Int?

  package init(_ reason: Reason, _ text: String = "", retryAfter: Int? = nil) {
    self.reason = reason
    self.text = text.isEmpty ? reason.rawValue : text
    self.retryAfter = retryAfter
  }
}

/// A response, whatever version of HTTP it goes out by.
package struct ServiceAnswer: Sendable, Hashable {
  package struct Field: Sendable, Hashable {
    package let name: String
    package let value: String
  }

  package var status: Int
  /// Names in lower case.
  package private(set) var fields: [Field] = []
  package var body: String

  /// - Parameter type: of the body; empty: there is none.
  package init(status: Int, type: String = "", body: String = "") {
    self.status = status
    self.body = body
    if !type.isEmpty { add("content-type", type) }
  }

  static func text(_ status: Int, _ body: String) -> ServiceAnswer {
    ServiceAnswer(status: status, type: "text/plain; charset=utf-8", body: body)
  }

  static func json(_ status: Int, _ value: JSONValue) -> ServiceAnswer {
    ServiceAnswer(status: status, type: "application/json", body: JSONText.compact(value))
  }

  mutating func add(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// RFC 9110, section 15.
  static func phrase(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 307: "Temporary Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 406: "Not Acceptable"
    case 410: "Gone"
    case 413: "Payload Too Large"
    case 429: "Too Many Requests"
    case 500: "Internal Server Error"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    default: "Status \(status)"
    }
  }
}
