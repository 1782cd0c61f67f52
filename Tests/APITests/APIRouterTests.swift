import Testing

@testable import API

@Suite struct APIRouterTests {
  private let router = APIRouter([
    APIRoute("GET", "/v1/users/{user}", .readOnly) { _ in .noContent },
    APIRoute("PUT", "/v1/users/{user}/devices/{token}", .appServer) { _ in .noContent },
    APIRoute("DELETE", "/v1/users/{user}/devices/{token}", .appServer) { _ in .noContent },
  ])

  private func found(_ method: String, _ segments: [String]) -> String {
    switch router.match(method, segments) {
    case .route(let route, let names):
      "\(route.method) \(route.pattern) \(names.map { "\($0.key)=\($0.value)" }.sorted())"
    case .methods(let methods): methods.joined(separator: ",")
    case .nothing: "nothing"
    }
  }

  @Test func placeholdersTakeWhatStandsThere() {
    #expect(
      found("PUT", ["v1", "users", "a/b", "devices", "00"])
        == #"PUT /v1/users/{user}/devices/{token} ["token=00", "user=a/b"]"#)
  }

  @Test func headIsGet() {
    #expect(found("HEAD", ["v1", "users", "u"]).hasPrefix("GET /v1/users/{user}"))
  }

  @Test func anotherMethodIsToldWhichThereAre() {
    #expect(found("PATCH", ["v1", "users", "u", "devices", "00"]) == "DELETE,PUT")
  }

  @Test(arguments: [
    ["v1", "users", ""], ["v1", "users"], ["v1", "users", "u", ""], [], ["v2", "users", "u"],
  ])
  func otherPathsAreNothing(_ segments: [String]) {
    #expect(found("GET", segments) == "nothing")
  }
}
