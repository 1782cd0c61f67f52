import HTTPServer
import JSON

/// The answer to a request that was carried out.
struct APIResponse: Sendable, Equatable {
  var status: Int
  var body: JSONValue?
  var headers: [String: String] = [:]

  static func ok(_ members: [(String, JSONValue)]) -> APIResponse {
    APIResponse(status: 200, body: .object(JSONObject(members)))
  }

  static let noContent = APIResponse(status: 204, body: nil)

  var http: HTTPResponse {
    HTTPResponse(
      status: status, contentType: "application/json", headers: headers,
      body: body.map { JSONText.bytes($0) } ?? [])
  }
}
