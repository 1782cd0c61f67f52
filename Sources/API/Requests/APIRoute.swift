/// One thing that can be asked: how, by whom, and what then happens. Its handler runs on the loop
/// of the API.
struct APIRoute {
  let method: String
  /// `/v1/users/{user}`: as docs/openapi.json writes it, and as metrics label it.
  let pattern: String
  /// nil: whoever asks gets it.
  let scope: APIScope?
  /// More is refused before it is read.
  let maximumBodyBytes: Int
  /// Set: its body is read while it comes, and an exchange may take so long.
  let streamedWithin: Duration?
  /// GET and DELETE refuse a body.
  var takesBody: Bool { method != "GET" && method != "DELETE" }
  /// Somebody will ask who did it.
  var isChange: Bool { method != "GET" }
  let handle: (APIRequest) async throws(Problem) -> APIResponse

  /// Enough for everything but an import.
  static let usualBodyBytes = 64 << 10

  init(
    _ method: String, _ pattern: String, _ scope: APIScope?,
    maximumBodyBytes: Int = usualBodyBytes, streamedWithin: Duration? = nil,
    handle: @escaping (APIRequest) async throws(Problem) -> APIResponse
  ) {
    self.method = method
    self.pattern = pattern
    self.scope = scope
    self.maximumBodyBytes = maximumBodyBytes
    self.streamedWithin = streamedWithin
    self.handle = handle
  }
}
