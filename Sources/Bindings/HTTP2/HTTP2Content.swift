/// The fields and the body of a response, as far as `HTTP2ClientOptions` keeps them.
package final class HTTP2Content {
  /// Of the final head; neither pseudo-header fields nor trailers.
  package internal(set) var fields: [(name: [UInt8], value: [UInt8])] = []
  package internal(set) var body: [UInt8] = []

  /// Of the last field of that name.
  package func value(of name: [UInt8]) -> [UInt8]? { fields.last { $0.name == name }?.value }
}
