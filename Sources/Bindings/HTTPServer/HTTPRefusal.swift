/// Why a request is not read on: the status of the answer, with which the connection ends.
package struct HTTPRefusal: Error, Equatable {
  package let status: Int
  package let reason: String

  init(_ status: Int, _ reason: String) {
    self.status = status
    self.reason = reason
  }

  /// Of what is not HTTP/1.1, or not for certain.
  init(_ reason: String) { self.init(400, reason) }
}
