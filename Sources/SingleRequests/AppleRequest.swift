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
  /// The host that the request is for, and its port unless that is 443; nil: the connection's.
  package let authority: String?
  package let path: String
  package let fields: [Field]
  package let body: String
  /// An encrypted body, in the place of `body`.
  package let sealedBody: [UInt8]?
  /// The most of the answer's body that is kept.
  package let maximumAnswerBytes: Int

  /// More than Apple says of a single push.
  package static let usualAnswerBytes = 4_096

  package init(
    method: String = "POST", path: String, fields: [Field], body: String = "",
    maximumAnswerBytes: Int = Self.usualAnswerBytes
  ) {
    self.method = method
    authority = nil
    self.path = path
    self.fields = fields
    self.body = body
    sealedBody = nil
    self.maximumAnswerBytes = maximumAnswerBytes
  }

  /// A request of Web Push, whose host is one of many at an address.
  package init(
    method: String, authority: String, path: String, fields: [Field], sealedBody: [UInt8]
  ) {
    self.method = method
    self.authority = authority
    self.path = path
    self.fields = fields
    body = ""
    self.sealedBody = sealedBody
    maximumAnswerBytes = Self.usualAnswerBytes
  }
}
