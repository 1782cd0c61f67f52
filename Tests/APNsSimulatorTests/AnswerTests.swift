import APNsSimulator
import HTTP2
import JSON
import Telemetry
import Testing
import Text
import Threads

/// Answers that the token, the script or the mix chooses.
@Suite struct AnswerTests {
  static func token(_ start: String, _ number: Int = 0) -> String {
    start + Hexadecimal.text(number, digits: 64 - start.utf8.count)
  }

  @Test func magicTokensChooseTheirAnswer() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let authorization = try bench.authorization()
      let cases: [(code: String, status: Int, body: String)] = [
        ("0400", 400, #"{"reason":"BadDeviceToken"}"#),
        ("0401", 400, #"{"reason":"DeviceTokenNotForTopic"}"#),
        ("0402", 400, #"{"reason":"TopicDisallowed"}"#),
        ("0403", 403, #"{"reason":"Forbidden"}"#),
        ("040e", 403, #"{"reason":"ExpiredProviderToken"}"#),
        ("040f", 403, #"{"reason":"InvalidProviderToken"}"#),
        ("0412", 410, #"{"reason":"Unregistered","timestamp":1262304000000}"#),
        ("0413", 413, #"{"reason":"PayloadTooLarge"}"#),
        ("0429", 429, #"{"reason":"TooManyRequests"}"#),
        ("042a", 429, #"{"reason":"TooManyProviderTokenUpdates"}"#),
        ("042b", 429, #"{"reason":"TooManyRequests"}"#),
        ("0500", 500, #"{"reason":"InternalServerError"}"#),
        ("0503", 503, #"{"reason":"ServiceUnavailable"}"#),
        ("050d", 503, #"{"reason":"Shutdown"}"#),
        ("0abc", 200, ""), ("0200", 200, ""),
      ]
      for item in cases {
        let request = Request(token: Self.token(MagicTokens.prefix + item.code))
        for _ in 0..<2 {
          let reply = try await client.send(request, authorization: authorization)
          #expect(reply.status == item.status, "\(item.code)")
          #expect(reply.text == item.body, "\(item.code)")
          #expect((reply.headers["retry-after"] != nil) == (item.code == "042b"))
        }
      }
      for (code, reason) in [("0410", "Unregistered"), ("0411", "ExpiredToken")] {
        let before = WallClock.nowMicroseconds() / 1000
        let request = Request(token: Self.token(MagicTokens.prefix + code))
        let reply = try await client.send(request, authorization: authorization)
        let body = try #require(try JSONValue.parse(reply.body).object)
        #expect(reply.status == 410)
        #expect(body["reason"]?.string == reason)
        let time = try #require(body["timestamp"]?.integer)
        #expect(time >= before && time <= before + 60_000)
      }
      for (code, error) in [("0e02", UInt32(2)), ("0e07", 7), ("0e08", 8)] {
        let request = Request(token: Self.token(MagicTokens.prefix + code))
        let reply = try await client.send(request, authorization: authorization)
        #expect(reply.status == 0)
        #expect(reply.closed == error)
      }
    }
  }

  @Test func aMagicTokenCanChangeItsMind() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let request = Request(token: Self.token(MagicTokens.prefix + "2503"))
      let authorization = try bench.authorization()
      var statuses: [Int] = []
      for _ in 0..<4 {
        let reply = try await client.send(request, authorization: authorization)
        statuses.append(reply.status)
      }
      #expect(statuses == [503, 503, 200, 200])
    }
  }

  @Test func aScriptAnswersByTokenPrefixAndTry() async throws {
    let text = """
      {"rules": [
        {"tokens": ["\(Self.token("aa"))"],
         "answers": [{"status": 503, "times": 1}, {"status": 429, "retry_after": 2, "times": 1},
                     {"status": 410, "timestamp": 1700000000000}]},
        {"prefix": "bb", "answers": [{"status": 418, "reason": "Teapot", "body": "no JSON"}]},
        {"prefix": "cc", "topic": "com.example.other"}]}
      """
    let script = try Array(text.utf8).withUnsafeBytes { try SimulatorScript.parse($0) }
    try await withSimulator(changed { $0.script = script }) { _, bench in
      let client = try await bench.connect()
      let authorization = try bench.authorization()
      var replies: [String] = []
      for start in ["aa", "aa", "aa", "aa", "bb", "cc", "dd"] {
        let reply = try await client.send(
          Request(token: Self.token(start)), authorization: authorization)
        replies.append("\(reply.status) \(reply.text) \(reply.headers["retry-after"] ?? "")")
      }
      #expect(
        replies == [
          #"503 {"reason":"ServiceUnavailable"} "#, #"429 {"reason":"TooManyRequests"} 2"#,
          #"410 {"reason":"Unregistered","timestamp":1700000000000} "#,
          #"410 {"reason":"Unregistered","timestamp":1700000000000} "#, "418 no JSON ",
          #"400 {"reason":"DeviceTokenNotForTopic"} "#, "200  ",
        ])
    }
  }

  @Test func theMixIsSeededAndCloseToItsShares() async throws {
    let mix = try SimulatorScript.mix("410=0.2,503=0.1")
    var runs: [[Int]] = []
    for _ in 0..<2 {
      let statuses = Statuses()
      try await withSimulator(
        changed {
          $0.script.mix = mix
          $0.seed = 7
        }
      ) { _, bench in
        let client = try await bench.connect()
        let authorization = try bench.authorization()
        for number in 0..<500 {
          let reply = try await client.send(
            Request(token: Self.token("", number)), authorization: authorization)
          statuses.append(reply.status)
        }
      }
      runs.append(statuses.all)
    }
    #expect(runs[0] == runs[1])
    #expect((60...140).contains(runs[0].count { $0 == 410 }))
    #expect((25...80).contains(runs[0].count { $0 == 503 }))
  }

  @Test func answersWaitForTheirLatency() async throws {
    try await withSimulator(
      changed {
        $0.script.latency = .milliseconds(60)
        $0.script.jitter = .milliseconds(20)
      }
    ) { _, bench in
      let client = try await bench.connect()
      let authorization = try bench.authorization()
      let clock = ContinuousClock()
      let start = clock.now
      _ = try await client.send(Request(), authorization: authorization)
      #expect(clock.now - start >= .milliseconds(40))
      // In flight together, they wait together.
      let slots = try (0..<50).map {
        try client.start(Request(token: Self.token("", $0)), authorization: authorization)
      }
      for slot in slots { #expect(await client.reply(to: slot).status == 200) }
      #expect(clock.now - start < .seconds(30))
    }
  }
}

final class Statuses: Sendable {
  private let values = ThreadLock<[Int]>([])
  func append(_ status: Int) { values.withLock { $0.append(status) } }
  var all: [Int] { values.withLock { $0 } }
}
