import Testing

@testable import API
@testable import HTTPServer

@Suite struct IdempotentAnswersTests {
  private func fingerprint(
    _ query: [(String, String?)], _ headers: [String: String] = [:], body: String = ""
  ) -> String {
    IdempotentAnswers.fingerprint(
      HTTPRequest(
        method: "POST", path: "/v1/events",
        query: query.map { HTTPRequest.Argument(name: $0.0, value: $0.1) }, headers: headers,
        body: Array(body.utf8)))
  }

  /// A percent-encoded line end is part of its argument.
  @Test func requestsThatDifferHaveFingerprintsOfTheirOwn() {
    let all = [
      fingerprint([("a", "b\nc=")]), fingerprint([("a", "b"), ("c", nil)]),
      fingerprint([("a", "b\n\nx")]), fingerprint([("a", "b")], body: "x\n\n"),
      fingerprint([], ["ce-id": "1\nce-type: 2"]), fingerprint([], ["ce-id": "1", "ce-type": "2"]),
      fingerprint([("ce-id", "1")]), fingerprint([], ["ce-id": "1"]),
    ]
    #expect(Set(all).count == all.count)
    #expect(fingerprint([("a", "b")]) == fingerprint([("a", "b")], ["x-request-id": "1"]))
  }
}
