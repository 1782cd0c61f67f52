import Testing

@testable import API

@Suite struct APIRouterTests {
  private let router = APIRouter([
    APIRoute("GET", "/v1/users/{user}", .readOnly) { _ in .noContent },
    APIRoute("PUT", "/v1/users/{user}/devices/{token}", .appServer) { _ in .noContent },
    APIRoute("DELETE", "/v1/users/{user}/devices/{token}", .appServer) { _ in .noContent },
  ])

  private let letters = APIRouter([
    APIRoute("GET", "/v1/dead-letters/{letter}", .readOnly) { _ in .noContent },
    APIRoute("POST", "/v1/dead-letters/replay", .admin) { _ in .noContent },
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

  @Test func aPathThatIsSpelledOutIsNoValueOfAPlaceholder() {
    let path = ["v1", "dead-letters", "replay"]
    guard case .route(let route, _) = letters.match("POST", path) else {
      Issue.record("there is no such route")
      return
    }
    #expect(route.pattern == "/v1/dead-letters/replay")
    guard case .methods(let methods) = letters.match("GET", path) else {
      Issue.record("it is taken for a letter")
      return
    }
    #expect(methods == ["POST"])
  }

  @Test(arguments: [
    ["v1", "users", ""], ["v1", "users"], ["v1", "users", "u", ""], [], ["v2", "users", "u"],
  ])
  func otherPathsAreNothing(_ segments: [String]) {
    #expect(found("GET", segments) == "nothing")
  }
}
