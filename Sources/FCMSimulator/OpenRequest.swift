/// The state of one request while it comes in, and until it is answered. One for each slot of a
/// connection, used again.
final class OpenRequest {
  /// Far over every message that is in order.
  private static let maximumBodyBytes = 64 << 10

  enum Path { case unknown, send, otherProject, token, control }

  var stream: Int32 = 0
  var path = Path.unknown
  var isPost = false
  var isGet = false
  var isForm = false
  var hasAuthorization = false
  /// Of its access token in `AccessTokens.issued`.
  var bearer: Int?
  /// Refused before it was read.
  var isRefused = false
  var isValidateOnly = false
  private(set) var isTooLong = false
  private(set) var body: [UInt8] = []

  func begin(stream: Int32) {
    self.stream = stream
    path = .unknown
    isPost = false
    isGet = false
    isForm = false
    hasAuthorization = false
    bearer = nil
    isRefused = false
    isValidateOnly = false
    isTooLong = false
    body.removeAll(keepingCapacity: true)
  }

  func append(_ bytes: UnsafeRawBufferPointer) {
    guard body.count + bytes.count <= Self.maximumBodyBytes else {
      isTooLong = true
      return
    }
    body.append(contentsOf: bytes)
  }
}
