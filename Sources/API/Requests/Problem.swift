import Devices
import HTTPServer
import JSON
import Kafka
import Record
import Redis

/// Why a request was not done, as RFC 9457 has it: what to change stands in `detail`.
struct Problem: Error, Sendable, Equatable {
  /// Stable words for programs, as docs/api.md lists them.
  enum Code: String, Sendable, CaseIterable {
    case malformedRequest = "malformed-request"
    case unauthenticated
    case forbidden
    case notFound = "not-found"
    case methodNotAllowed = "method-not-allowed"
    case tooSlow = "too-slow"
    case conflict
    case tooLarge = "too-large"
    case unsupportedMediaType = "unsupported-media-type"
    case invalid
    case keyReused = "idempotency-key-reused"
    case tooManyRequests = "too-many-requests"
    case headTooLarge = "head-too-large"
    case internalError = "internal-error"
    case unavailable

    var status: Int {
      switch self {
      case .malformedRequest: 400
      case .unauthenticated: 401
      case .forbidden: 403
      case .notFound: 404
      case .methodNotAllowed: 405
      case .tooSlow: 408
      case .conflict, .keyReused: 409
      case .tooLarge: 413
      case .unsupportedMediaType: 415
      case .invalid: 422
      case .tooManyRequests: 429
      case .headTooLarge: 431
      case .internalError: 500
      case .unavailable: 503
      }
    }

    var title: String {
      switch self {
      case .malformedRequest: "The request cannot be read"
      case .unauthenticated: "No key that is good was shown"
      case .forbidden: "The key may not do this"
      case .notFound: "There is nothing here"
      case .methodNotAllowed: "This cannot be done here"
      case .tooSlow: "The request came too slowly"
      case .conflict: "Another request stands in the way"
      case .tooLarge: "The request or what it asks for is too large"
      case .unsupportedMediaType: "The body is of a type that is not read here"
      case .invalid: "A value is not valid"
      case .keyReused: "The idempotency key belongs to another request"
      case .tooManyRequests: "Too many requests"
      case .headTooLarge: "The head of the request is too large"
      case .internalError: "The server cannot do this"
      case .unavailable: "Something that is needed cannot be reached"
      }
    }
  }

  let code: Code
  let detail: String
  /// A finer code, of an event that is none: what the dead letters would say.
  var reason: String?
  var headers: [String: String] = [:]

  init(_ code: Code, _ detail: String, reason: String? = nil, headers: [String: String] = [:]) {
    self.code = code
    self.detail = detail
    self.reason = reason
    self.headers = headers
  }

  /// Returns the response to a request that the server refused before it reached the API.
  static func refusal(_ status: Int, _ reason: String) -> HTTPResponse {
    let code = Code.allCases.first { $0.status == status } ?? .malformedRequest
    return Problem(code, reason).response(requestID: "-")
  }

  func response(requestID: String) -> HTTPResponse {
    var members: [(String, JSONValue)] = [
      ("type", .string("urn:fanfare:problem:\(code.rawValue)")),
      ("title", .string(code.title)), ("status", .integer(Int64(code.status))),
      ("detail", .string(detail)), ("request_id", .string(requestID)),
    ]
    if let reason { members.append(("reason", .string(reason))) }
    return HTTPResponse(
      status: code.status, contentType: "application/problem+json", headers: headers,
      body: Array(JSONText.compact(.object(JSONObject(members))).utf8))
  }
}

extension Problem {
  private static let soon = ["Retry-After": "1"]

  init(_ error: DevicesError) {
    switch error.code {
    case .invalid: self.init(.invalid, error.message)
    case .tooLarge: self.init(.tooLarge, error.message)
    case .conflict: self.init(.conflict, error.message, headers: Self.soon)
    case .overtaken: self.init(.conflict, error.message)
    case .badContent: self.init(.internalError, error.message)
    case .untold: self.init(.unavailable, error.message, headers: Self.soon)
    case .redis(let code): self = Self.ofRedis(code, error.message)
    }
  }

  init(_ error: RecordError) {
    switch error.code {
    case .redis(let code): self = Self.ofRedis(code, error.message)
    case .tooLarge: self.init(.tooLarge, error.message)
    case .badContent, .clocksDisagree: self.init(.internalError, error.message)
    }
  }

  init(_ error: RedisError) { self = Self.ofRedis(error.code, error.message) }

  init(_ refusal: GivenRefusal) {
    self.init(.invalid, "\(refusal.name) must be \(refusal.rule)\(refusal.hint)")
  }

  /// The request may have been carried out all the same; every request of the API may be repeated.
  private static func ofRedis(_ code: RedisError.Code, _ message: String) -> Problem {
    code.mayBeAskedAgain
      ? Problem(.unavailable, "Redis: \(message)", headers: soon)
      : Problem(.internalError, "Redis: \(message)")
  }

  init(_ error: KafkaError) {
    self =
      switch error.code {
      case .tooLarge: Problem(.tooLarge, "Kafka takes no record of this size")
      case .configuration, .authentication, .authorization, .unsupported, .other:
        Problem(.internalError, "Kafka: \(error.message)")
      case .unreachable, .unknownTopic, .timedOut, .rebalanced, .fatal, .closed:
        Problem(.unavailable, "Kafka: \(error.message)", headers: Self.soon)
      }
  }
}
