import JSON
import Testing

@testable import API

@Suite struct TagRoutesTests {
  @Test func aTagIsGivenShownAndTaken() async throws {
    try await APIBed.run { bed in
      let one = "/v1/users/u1/tags/beta"
      #expect(try bed.ask("PUT", one, as: .readOnly).status == 403)
      #expect(try bed.ask("PUT", one, as: .appServer)["new"] == true)
      #expect(try bed.ask("PUT", one)["new"] == false)
      let shown = try bed.ask("GET", "/v1/tags/beta?sample=5", as: .readOnly)
      #expect(shown["users"] == 1 && shown["sample"] == ["u1"])
      #expect(try bed.ask("DELETE", one)["removed"] == true)
      #expect(try bed.ask("DELETE", one)["removed"] == false)
      #expect(try bed.ask("GET", "/v1/tags/beta")["users"] == 0)
    }
  }

  @Test func anImportGivesTags() async throws {
    try await APIBed.run { bed in
      let rows = """
        {"user":"u1","tags":["beta","gamma"]}
        {"user":"u2","tags":["beta"]}
        {"user":"u3","tags":["a:1:2"]}
        """
      let headers = ["Content-Type": "application/x-ndjson"]
      let answer = try bed.ask("POST", "/v1/imports", rows, headers: headers)
      #expect(answer.status == 200 && answer["tags"] == 3 && answer["refused"] == 1)
      #expect(try bed.ask("GET", "/v1/tags/beta")["users"] == 2)
      #expect(try bed.ask("GET", "/v1/tags/gamma")["users"] == 1)
      #expect(try bed.ask("GET", "/v1/users/u3").status == 404)
    }
  }

  @Test func manyAreChangedAtATime() async throws {
    try await APIBed.run { bed in
      let first = try bed.ask("PATCH", "/v1/tags/beta", #"{"add":["u1","u2","u3"]}"#)
      #expect(first["added"] == 3 && first["removed"] == 0)
      let second = try bed.ask("PATCH", "/v1/tags/beta", #"{"add":["u3","u4"],"remove":["u1"]}"#)
      #expect(second["added"] == 1 && second["removed"] == 1)
      #expect(try bed.ask("GET", "/v1/tags/beta")["users"] == 3)
      // As many as may be, with ids as long as they may be.
      func longest(_ letter: String) -> String {
        (0..<1000).map {
          "\"\($0)" + String(repeating: letter, count: 128 - "\($0)".utf8.count) + "\""
        }
        .joined(separator: ",")
      }
      let whole = try bed.ask(
        "PATCH", "/v1/tags/whole", #"{"add":[\#(longest("a"))],"remove":[\#(longest("b"))]}"#)
      #expect(whole.status == 200 && whole["added"] == 1000)
      // Beyond 1 MiB: a list may be written with escapes and spaces.
      let spaces = String(repeating: " ", count: 1_500_000)
      let long = try bed.ask("PATCH", "/v1/tags/beta", #"{"add":["u9"]\#(spaces)}"#)
      #expect(long.status == 200 && long["added"] == 1, "\(long.body)")
      let ids = (0...1000).map { #""u\#($0)""# }.joined(separator: ",")
      for body in [
        #"{"add":[\#(ids)]}"#, #"{"add":"u1"}"#, #"{"add":[5]}"#, #"{"add":["a{"]}"#,
        #"{"set":["u1"]}"#,
      ] {
        #expect(try bed.ask("PATCH", "/v1/tags/beta", body).status == 422, "\(body.prefix(40))")
      }
      #expect(try bed.ask("PUT", "/v1/users/u1/tags/a:1:2").status == 422)
    }
  }
}
