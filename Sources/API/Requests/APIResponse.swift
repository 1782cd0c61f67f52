import HTTPServer
import JSON

/// The answer to a request that was carried out.
struct APIResponse: Sendable, Equatable {
  var status: Int
  var body: JSONValue?
  var headers: [String: String] = [:]
  /// An answer that is no JSON of ours, or that goes on; in place of all else.
  private var whole: HTTPResponse?

  init(status: Int, body: JSONValue?, headers: [String: String] = [:]) {
    self.status = status
    self.body = body
    self.headers = headers
  }

  init(whole: HTTPResponse) {
    self.init(status: whole.status, body: nil)
    self.whole = whole
  }

  static func ok(_ members: [(String, JSONValue)]) -> APIResponse {
    APIResponse(status: 200, body: .object(JSONObject(members)))
  }

  static let noContent = APIResponse(status: 204, body: nil)

  var http: HTTPResponse {
    if let whole { return whole }
    return HTTPResponse(
      status: status, contentType: "application/json", headers: headers,
      body: body.map { JSONText.bytes($0) } ?? [])
  }
}
