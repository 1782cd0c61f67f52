/// Why a record is no event of ours: a stable code for the dead letter's header, and the place and
/// reason in words.
package struct IngestError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable, CaseIterable {
    case tombstone
    case tooLarge = "too_large"
    case notJSON = "not_json"
    case duplicateKey = "duplicate_key"
    case missingField = "missing_field"
    case unknownField = "unknown_field"
    case wrongType = "wrong_type"
    case badIdentifier = "bad_identifier"
    case badText = "bad_text"
    case badType = "bad_type"
    case badTime = "bad_time"
    case occurredInFuture = "occurred_in_future"
    case badExpiry = "bad_expiry"
    case badRate = "bad_rate"
    case badAudience = "bad_audience"
    case tooManyFields = "too_many_fields"
    case keyMismatch = "key_mismatch"
    case badSegment = "bad_segment"
    case unknownTemplate = "unknown_template"
    /// The record is fine; what Redis holds for it is not.
    case unprocessable

    /// Whether the record itself is wrong. Otherwise its template or its data in Redis is missing
    /// or wrong.
    package var isOfTheRecord: Bool { self != .unknownTemplate && self != .unprocessable }
  }

  package let code: Code
  package let reason: String

  package init(_ code: Code, _ reason: String) {
    self.code = code
    self.reason = reason
  }

  /// The same with what the record looks like, if that is known.
  func with(hint: String?) -> IngestError {
    guard let hint else { return self }
    return IngestError(code, "\(reason); \(hint)")
  }

  package var description: String { "\(code.rawValue): \(reason)" }
}
