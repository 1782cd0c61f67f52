/// Why a request is not read on: the status of the answer, with which the connection ends.
struct HTTPRefusal: Error, Equatable {
  let status: Int
  let reason: String

  init(_ status: Int, _ reason: String) {
    self.status = status
    self.reason = reason
  }

  /// Of what is not HTTP/1.1, or not for certain.
  init(_ reason: String) { self.init(400, reason) }
}
