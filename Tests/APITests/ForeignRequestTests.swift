import Fixtures
import JSON
import Testing

@testable import API

/// What a proxy in front may read otherwise, and bodies that no route takes.
@Suite struct ForeignRequestTests {
  private static func answers(_ text: String, _ bed: APIBed) throws -> [String] {
    let client = try RawClient(port: bed.port)
    client.send(text)
    let all = try #require(client.readToEnd())
    return all.split(separator: "HTTP/1.1 ").map(String.init)
  }

  private static func bind(_ bed: APIBed) throws {
    let answer = try bed.ask(
      "PUT", "/v1/users/u/devices/\(String(repeating: "ab", count: 32))",
      #"{"topic":"com.example.live"}"#)
    #expect(answer.status == 200 || answer.status == 201)
  }

  /// The next client's key, in the chunk of one who has none.
  @Test(arguments: ["GET /openapi.json", "GET /v1/users/u", "DELETE /v1/users/u", "GET /none"])
  func nothingIsRunBehindABodyThatNobodyReads(_ line: String) async throws {
    try await APIBed.run { bed in
      try Self.bind(bed)
      let erasure =
        "DELETE /v1/users/u HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(bed.key(.admin))\r\n\r\n"
      for chunk in ["5\n", "5\r\n", "5;\n", "0\n\n", "0\r\n\r\n"] {
        let answers = try Self.answers(
          "\(line) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + erasure, bed
        )
        #expect(answers.count == 1 && answers[0].hasPrefix("4"), "\(answers)")
        #expect(answers.first?.contains("Connection: close") == true)
      }
      #expect(try bed.ask("GET", "/v1/users/u").status == 200, "the user is forgotten")
    }
  }

  /// A raw NUL would end the path where a C string ends.
  @Test(arguments: ["\u{0}", "%00"]) func aNULCutsNothing(_ nul: String) async throws {
    try await APIBed.run { bed in
      try Self.bind(bed)
      let answers = try Self.answers(
        "DELETE /v1/users/u\(nul)/devices/t HTTP/1.1\r\nHost: a\r\n"
          + "Authorization: Bearer \(bed.key(.admin))\r\n\r\n", bed)
      #expect(answers.count == 1 && answers[0].hasPrefix("400 "), "\(answers)")
      #expect(try bed.ask("GET", "/v1/users/u").status == 200, "the user is forgotten")
    }
  }

  @Test func aBodyIsRefusedWhereNoneIsTaken() async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask("DELETE", "/v1/users/u", "{}")
      #expect(answer.status == 400 && answer.detail.contains("takes no body"))
      #expect(answer.head.contains("Connection: close"))
      #expect(try bed.ask("DELETE", "/v1/users/u", "").status == 200)
    }
  }

  /// An import that is refused after its head has an answer, though it is still being sent.
  @Test(arguments: [
    ("?id=a%20b", "application/x-ndjson", "422 "), ("?x=1", "application/x-ndjson", "400 "),
    ("", "text/plain", "415 "),
  ])
  func anImportThatIsRefusedSaysSo(
    _ query: String, _ type: String, _ status: String
  ) async throws {
    try await APIBed.run { bed in
      let client = try RawClient(port: bed.port)
      client.send(
        "POST /v1/imports\(query) HTTP/1.1\r\nHost: a\r\nContent-Type: \(type)\r\n"
          + "Authorization: Bearer \(bed.key(.admin))\r\nContent-Length: 100000000\r\n\r\n")
      // Longer than it once was read past.
      for _ in 0..<30 {
        #expect(client.send([UInt8](repeating: 0x20, count: 1_000)))
        #expect(!client.waitForEnd(milliseconds: 100), "cut off")
      }
      #expect(client.readToEnd()?.hasPrefix("HTTP/1.1 \(status)") == true)
    }
  }

  /// Two of them would keep all others out for an hour.
  @Test func anImportThatDripsEndsWithTheReason() async throws {
    try await APIBed.run { options in
      options.http.exchangeTimeout = .milliseconds(500)
      options.imports.atOnce = 1
    } _: { bed in
      let client = try RawClient(port: bed.port)
      client.send(
        "POST /v1/imports?id=slow HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-ndjson\r\n"
          + "Authorization: Bearer \(bed.key(.admin))\r\nTransfer-Encoding: chunked\r\n\r\n")
      var drips = 0
      while client.send("2\r\n{}\r\n"), drips < 1_000, !client.waitForClose(milliseconds: 20) {
        drips += 1
      }
      let answer = try #require(client.readToEnd())
      #expect(answer.hasPrefix("HTTP/1.1 408 ") && answer.contains("more slowly than 16384 bytes"))
      #expect(answer.contains("urn:fanfare:problem:too-slow"))
      let report = try bed.ask("GET", "/v1/imports/slow")
      #expect(report["state"] == "failed" && report["why"]?.string?.contains("slowly") == true)
      // Its place is free.
      let next = try bed.ask(
        "POST", "/v1/imports", "", headers: ["Content-Type": "application/x-ndjson"])
      #expect(next.status == 200)
    }
  }
}
