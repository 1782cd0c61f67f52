import JSON
import Text

/// A provider token that was looked at once; the signature costs as much as 50 pushes.
final class CheckedProviderToken {
  /// Nil: sound as long as it is not too old.
  let flaw: AppleReason?
  /// Seconds since 1970, from the claim `iat`.
  let issuedAt: Int64
  let text: [UInt8]
  let teamID: String
  private let topics: [[UInt8]]

  init(
    _ text: [UInt8], flaw: AppleReason?, issuedAt: Int64, teamID: String = "",
    topics: [[UInt8]] = []
  ) {
    self.text = text
    self.flaw = flaw
    self.issuedAt = issuedAt
    self.teamID = teamID
    self.topics = topics
  }

  /// - Parameter topic: without the suffix of a push type.
  func allows(_ topic: UnsafeRawBufferPointer) -> Bool {
    topics.isEmpty || topics.contains { topic.elementsEqualBytes($0) }
  }
}
