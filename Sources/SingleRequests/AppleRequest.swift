/// One request to Apple's service, without the credentials, which no output ever shows.
package struct AppleRequest: Sendable, Equatable {
  package struct Field: Sendable, Equatable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  package let method: String
  package let path: String
  package let fields: [Field]
  package let body: String
  /// The most of the answer's body that is kept.
  package let maximumAnswerBytes: Int

  /// More than Apple says of a single push.
  package static let usualAnswerBytes = 4_096

  package init(
    method: String = "POST", path: String, fields: [Field], body: String = "",
    maximumAnswerBytes: Int = Self.usualAnswerBytes
  ) {
    self.method = method
    self.path = path
    self.fields = fields
    self.body = body
    self.maximumAnswerBytes = maximumAnswerBytes
  }
}
