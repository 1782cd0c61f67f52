import SingleRequests

/// The outcome of one row of a table of rules, whichever service it is about.
package struct ConformanceResult: Sendable {
  package let rule: String
  package let request: AppleRequest
  /// `400 BadTopic`, or why there was no answer.
  package let answer: String
  /// The answer that it must be, with what it must carry.
  package let expected: String
  package let isRight: Bool
}
