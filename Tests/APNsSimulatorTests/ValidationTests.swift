import APNsSimulator
import Telemetry
import Testing

/// Each of Apple's rules broken alone, and its exact answer.
@Suite struct ValidationTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let status: Int
    let reason: String
    let spoil: @Sendable (inout Request) -> Void
    var testDescription: String { name }
  }

  static let cases: [Case] = [
    Case(name: "method", status: 405, reason: "MethodNotAllowed") { $0.method = "GET" },
    Case(name: "path", status: 404, reason: "BadPath") { $0.path = "/3/devices/abcd" },
    Case(name: "old path", status: 404, reason: "BadPath") { $0.path = "/2/device/abcd" },
    Case(name: "path with a tail", status: 404, reason: "BadPath") { $0.path += "/x" },
    Case(name: "no token", status: 400, reason: "MissingDeviceToken") { $0.path = "/3/device/" },
    Case(name: "no token, no slash", status: 400, reason: "MissingDeviceToken") {
      $0.path = "/3/device"
    },
    Case(name: "short token", status: 400, reason: "BadDeviceToken") {
      $0.path = "/3/device/abcd"
    },
    Case(name: "odd token", status: 400, reason: "BadDeviceToken") { $0.path += "a" },
    Case(name: "long token", status: 400, reason: "BadDeviceToken") {
      $0.path = "/3/device/" + String(repeating: "a", count: 202)
    },
    Case(name: "token not hex", status: 400, reason: "BadDeviceToken") {
      $0.path = "/3/device/" + String(repeating: "g", count: 64)
    },
    Case(name: "no topic", status: 400, reason: "MissingTopic") { $0.set("apns-topic", nil) },
    Case(name: "empty topic", status: 400, reason: "BadTopic") { $0.set("apns-topic", "") },
    Case(name: "topic with space", status: 400, reason: "BadTopic") {
      $0.set("apns-topic", "a b")
    },
    Case(name: "foreign topic", status: 400, reason: "TopicDisallowed") {
      $0.set("apns-topic", "com.example.other")
    },
    Case(name: "topic without the suffix", status: 400, reason: "TopicDisallowed") {
      $0.set("apns-push-type", "voip")
    },
    Case(name: "push type", status: 400, reason: "InvalidPushType") {
      $0.set("apns-push-type", "shout")
    },
    Case(name: "empty push type", status: 400, reason: "InvalidPushType") {
      $0.set("apns-push-type", "")
    },
    Case(name: "priority", status: 400, reason: "BadPriority") { $0.set("apns-priority", "7") },
    Case(name: "background at once", status: 400, reason: "BadPriority") {
      $0.set("apns-push-type", "background")
    },
    Case(name: "id", status: 400, reason: "BadMessageId") { $0.set("apns-id", "1") },
    Case(name: "id with wrong hyphens", status: 400, reason: "BadMessageId") {
      $0.set("apns-id", "123e4567e-89b-12d3-a456-42661417400a")
    },
    Case(name: "expiration", status: 400, reason: "BadExpirationDate") {
      $0.set("apns-expiration", "soon")
    },
    Case(name: "negative expiration", status: 400, reason: "BadExpirationDate") {
      $0.set("apns-expiration", "-1")
    },
    Case(name: "far expiration", status: 400, reason: "BadExpirationDate") {
      let now = WallClock.nowMicroseconds() / 1_000_000
      $0.set("apns-expiration", String(now + 31 * 24 * 3600))
    },
    Case(name: "collapse id", status: 400, reason: "BadCollapseId") {
      $0.set("apns-collapse-id", String(repeating: "c", count: 65))
    },
    Case(name: "twice the same field", status: 400, reason: "DuplicateHeaders") {
      $0.fields.append(("apns-priority", "5"))
    },
    Case(name: "no payload", status: 400, reason: "PayloadEmpty") { $0.body = [] },
    Case(name: "payload no JSON", status: 400, reason: "PayloadEmpty") {
      $0.body = Array(#"{"aps":"#.utf8)
    },
    Case(name: "payload no object", status: 400, reason: "PayloadEmpty") {
      $0.body = Array("[]".utf8)
    },
    Case(name: "payload with bad UTF-8", status: 400, reason: "PayloadEmpty") {
      $0.body = Array(#"{"a":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)
    },
    Case(name: "large payload", status: 413, reason: "PayloadTooLarge") {
      $0.body = ValidationTests.payload(4097)
    },
    Case(name: "huge payload", status: 413, reason: "PayloadTooLarge") {
      $0.body = ValidationTests.payload(60_000)
    },
    Case(name: "large VoIP payload", status: 413, reason: "PayloadTooLarge") {
      $0.set("apns-push-type", "voip")
      $0.set("apns-topic", "com.example.live.voip")
      $0.body = ValidationTests.payload(5121)
    },
  ]

  static func payload(_ size: Int) -> [UInt8] {
    let frame = Array(#"{"aps":{"alert":""}}"#.utf8)
    return Array(frame.dropLast(3)) + [UInt8](repeating: 0x61, count: size - frame.count)
      + Array(frame.suffix(3))
  }

  @Test func everyFaultHasItsAnswer() async throws {
    try await withSimulator(changed { $0.topics = ["com.example.live"] }) { _, bench in
      let client = try await bench.connect()
      let authorization = try bench.authorization()
      for item in Self.cases {
        var request = Request()
        item.spoil(&request)
        let reply = try await client.send(request, authorization: authorization)
        #expect(reply.status == item.status, "\(item.name)")
        #expect(reply.text == "{\"reason\":\"\(item.reason)\"}", "\(item.name)")
        #expect(reply.closed == 0, "\(item.name)")
        #expect(reply.headers["apns-id"]?.utf8.count == 36, "\(item.name)")
      }
    }
  }

  static let sound: [@Sendable (inout Request) -> Void] = [
    { _ in },
    { $0.body = payload(4096) },
    {
      $0.set("apns-push-type", "voip")
      $0.set("apns-topic", "com.example.live.voip")
      $0.path = "/3/device/" + String(repeating: "0a", count: 32)
      $0.body = payload(5120)
    },
    {
      $0.set("apns-push-type", "liveactivity")
      $0.set("apns-topic", "com.example.live.push-type.liveactivity")
      $0.path = "/3/device/" + String(repeating: "0b", count: 32)
    },
    {
      $0.set("apns-push-type", "background")
      $0.set("apns-priority", "5")
    },
    { $0.path = "/3/device/" + String(repeating: "0f", count: 100) },
    { $0.path = "/3/device/" + String(repeating: "AB", count: 32) },
    { $0.set("apns-expiration", "0") },
    { $0.set("apns-collapse-id", String(repeating: "c", count: 64)) },
    { $0.set("apns-push-type", nil) },
    { $0.set("apns-priority", "1") },
    { $0.set("apns-expiration", String(WallClock.nowMicroseconds() / 1_000_000 + 2_591_000)) },
  ]

  @Test func soundRequestsAreAccepted() async throws {
    try await withSimulator(changed { $0.topics = ["com.example.live"] }) { _, bench in
      let client = try await bench.connect()
      let authorization = try bench.authorization()
      for (index, change) in Self.sound.enumerated() {
        var request = Request()
        change(&request)
        let reply = try await client.send(request, authorization: authorization)
        #expect(reply.status == 200, "number \(index): \(reply.text)")
        #expect(reply.body == [])
        #expect(reply.headers == ["apns-id": "123e4567-e89b-12d3-a456-42661417400a"])
      }
    }
  }

  /// Apple: each push type with a suffix has tokens of its own.
  @Test func aTokenBelongsToTheTopicThatItWasAcceptedFor() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let authorization = try bench.authorization()
      var statuses: [String] = []
      for (type, topic) in [
        ("voip", "com.example.live"), ("alert", "com.example.live"),
        ("background", "com.example.live"), ("voip", "com.example.live.voip"),
        ("alert", "com.example.other"), ("alert", "com.example.live"),
      ] {
        var request = Request()
        request.set("apns-push-type", type)
        request.set("apns-priority", "5")
        request.set("apns-topic", topic)
        let reply = try await client.send(request, authorization: authorization)
        statuses.append("\(reply.status) \(reply.text)")
      }
      let refused = #"400 {"reason":"DeviceTokenNotForTopic"}"#
      #expect(
        statuses == [
          #"400 {"reason":"TopicDisallowed"}"#, "200 ", "200 ", refused, refused, "200 ",
        ])
      // A reset forgets whose it was.
      await bench.simulator.reset()
      var request = Request()
      request.set("apns-topic", "com.example.other")
      #expect(try await client.send(request, authorization: authorization).status == 200)
    }
  }

  @Test func anIdentifierIsMadeWhenOmitted() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      var request = Request()
      request.set("apns-id", nil)
      var made: Set<String> = []
      for _ in 0..<3 {
        let reply = try await client.send(request, authorization: try bench.authorization())
        let identifier = try #require(reply.headers["apns-id"])
        #expect(identifier.utf8.count == 36)
        made.insert(identifier)
      }
      #expect(made.count == 3)
    }
  }

  @Test func theUniqueIdentifierIsOfDevelopmentOnly() async throws {
    try await withSimulator(changed { $0.isDevelopment = true }) { _, bench in
      let client = try await bench.connect()
      let reply = try await client.send(Request(), authorization: try bench.authorization())
      #expect(reply.headers["apns-unique-id"]?.utf8.count == 36)
    }
  }
}
