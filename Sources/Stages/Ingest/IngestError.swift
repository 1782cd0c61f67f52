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

/// A piece of a record as a reason may show it: reasons go to headers and logs, and a record may be
/// hostile.
package enum Excerpt {
  /// A grapheme may be made of 10,000 scalars, so these are counted.
  static let maximumScalars = 64

  /// In quotes and cut to `maximumScalars`. Control characters, line separators and what is not
  /// seen (bidi marks, zero-width characters) are shown as `\u{…}`.
  package static func quoted(_ text: String) -> String {
    var output = "\""
    for scalar in text.unicodeScalars.prefix(maximumScalars) {
      if scalar == "\"" || scalar == "\\" {
        output += "\\"
        output.unicodeScalars.append(scalar)
      } else if isSeen(scalar) {
        output.unicodeScalars.append(scalar)
      } else {
        output += "\\u{\(String(scalar.value, radix: 16))}"
      }
    }
    let isCut = text.unicodeScalars.dropFirst(maximumScalars).first != nil
    return output + (isCut ? "…\"" : "\"")
  }

  private static func isSeen(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: false
    default: true
    }
  }
}
