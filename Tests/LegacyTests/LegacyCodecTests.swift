import Testing

@testable import Legacy

/// The bytes of the binary interface, as Apple's guide draws them.
@Suite struct LegacyCodecTests {
  private static let token = Array(UInt8(0)..<32)
  private static let payload = Array(#"{"aps":{}}"#.utf8)

  private static var notification: LegacyNotification {
    var made = LegacyNotification(token: token, payload: payload)
    made.identifier = 0x0102_0304
    made.expiration = 0x6566_6768
    made.priority = 5
    return made
  }

  @Test func writesEachCommandAsTheGuideDrawsIt() {
    let bodies = [0, 32] + Self.token + [0, 10] + Self.payload
    #expect(Self.notification.frame(.simple) == [0] + bodies)
    #expect(
      Self.notification.frame(.enhanced)
        == [1, 1, 2, 3, 4, 0x65, 0x66, 0x67, 0x68] + bodies)
    let items: [UInt8] =
      [1, 0, 32] + Self.token + [2, 0, 10] + Self.payload + [3, 0, 4, 1, 2, 3, 4]
      + [4, 0, 4, 0x65, 0x66, 0x67, 0x68, 5, 0, 1, 5]
    #expect(Self.notification.frame(.framed) == [2, 0, 0, 0, UInt8(items.count)] + items)
  }

  @Test(arguments: LegacyNotification.Command.allCases)
  func readsWhatItWrites(command: LegacyNotification.Command) throws {
    let bytes = try #require(Self.notification.frame(command))
    var expected = Self.notification
    if command == .simple { (expected.identifier, expected.expiration) = (0, 0) }
    if command != .framed { expected.priority = 10 }
    let more = bytes + [9, 9]
    #expect(
      LegacyNotification.parse(more[...])
        == .notification(expected, command, byteCount: bytes.count))
    for count in 0..<bytes.count {
      #expect(LegacyNotification.parse(bytes.prefix(count)) == .incomplete)
    }
  }

  @Test(arguments: LegacyNotification.Command.allCases)
  func boundsTokenPayloadAndPriority(command: LegacyNotification.Command) {
    func frame(token: Int, payload: Int, priority: UInt8 = 10) -> [UInt8]? {
      var made = LegacyNotification(
        token: Array(repeating: 1, count: token), payload: Array(repeating: 0x20, count: payload))
      made.priority = priority
      return made.frame(command)
    }
    let limit = command == .framed ? 2048 : 256
    #expect(command.maximumPayloadBytes == limit)
    for good in [(1, 1), (32, limit), (256, 1)] {
      #expect(frame(token: good.0, payload: good.1) != nil)
    }
    for bad in [(0, 1), (257, 1), (32, 0), (32, limit + 1)] {
      #expect(frame(token: bad.0, payload: bad.1) == nil)
    }
    #expect(frame(token: 32, payload: 2, priority: 1) == nil)
    #expect(frame(token: 32, payload: 2, priority: 5) != nil)
  }

  @Test func refusesWhatNoGatewayWouldReadOn() throws {
    let framed = try #require(Self.notification.frame(.framed))
    let token: [UInt8] = [1, 0, 1, 7]
    let payload: [UInt8] = [2, 0, 2, 0x7B, 0x7D]
    let identifier: [UInt8] = [3, 0, 4, 0, 0, 0, 1]
    func frame(_ items: [UInt8]...) -> [UInt8] {
      let all = items.flatMap { $0 }
      return [2, 0, 0, 0, UInt8(all.count)] + all
    }
    if case .notification = LegacyNotification.parse(frame(token, payload, identifier)[...]) {
    } else {
      Issue.record("the least frame is not read")
    }
    let wrong: [[UInt8]] = [
      [3], [255],
      // No token, a token beyond any length, no payload, a payload beyond the bound.
      [0, 0, 0], [0, 1, 1], [0, 0, 1, 7, 0, 0], [0, 0, 1, 7, 1, 1],
      // A frame of no length, or beyond any.
      [2, 0, 0, 0, 0], [2, 0, 1, 0, 0],
      // Twice the same item, an unknown one, one too long for its frame, one missing.
      frame(token, token, payload, identifier), frame(token, payload, identifier, [6, 0, 1, 0]),
      frame(token, payload, identifier, [5, 0, 2, 10]), frame(payload, identifier),
      frame(token, identifier), frame(token, payload),
      // Numbers of another size, and a priority that there is not.
      frame(token, payload, [3, 0, 2, 0, 1]), frame(token, payload, identifier, [5, 0, 1, 1]),
      frame(token, payload, identifier, [4, 0, 3, 0, 0, 1]),
    ]
    for bytes in wrong { #expect(LegacyNotification.parse(bytes[...]) == .invalid, "\(bytes)") }
    #expect(LegacyNotification.parse(framed.dropLast()) == .incomplete)
  }

  @Test func readsAnErrorResponseOfSixBytesOnly() {
    let bytes: [UInt8] = [8, 10, 0, 0, 1, 2]
    #expect(
      LegacyErrorResponse(bytes) == LegacyErrorResponse(status: .shutdown, identifier: 258))
    #expect(LegacyErrorResponse(Array(bytes.dropLast())) == nil)
    #expect(LegacyErrorResponse(bytes + [0]) == nil)
    #expect(LegacyErrorResponse([7, 10, 0, 0, 1, 2]) == nil)
  }

  @Test func knowsEachDocumentedStatus() {
    let documented: [(UInt8, LegacyStatus.Meaning, String)] = [
      (0, .lastTaken, "no errors encountered"), (1, .tryAgain, "processing error"),
      (2, .ours, "missing device token"), (3, .ours, "missing topic"),
      (4, .ours, "missing payload"), (5, .ours, "invalid token size"),
      (6, .ours, "invalid topic size"), (7, .payloadTooLong, "invalid payload size"),
      (8, .tokenInvalid, "invalid token"), (10, .lastTaken, "shutdown"),
      (128, .ours, "protocol error"), (255, .unknown, "none (unknown)"),
    ]
    for (code, meaning, words) in documented {
      #expect(LegacyStatus(code).meaning == meaning)
      #expect(LegacyStatus(code).words == words)
    }
    let codes = Set(documented.map(\.0))
    for code in UInt8.min...UInt8.max where !codes.contains(code) {
      #expect(LegacyStatus(code).meaning == .unknown)
      #expect(LegacyStatus(code).words == "undocumented status \(code)")
    }
  }

  // MARK: feedback

  @Test(arguments: [1, 2, 5, 6, 7, 38, 1000])
  func readsFeedbackInPiecesOfAnySize(pieces: Int) throws {
    let short: [UInt8] = [0, 0, 0, 1, 0, 1, 0xAB]
    let bytes = [0x65, 0x66, 0x67, 0x68, 0, 32] + Self.token + short
    var reader = FeedbackReader()
    var tuples: [FeedbackTuple] = []
    for start in stride(from: 0, to: bytes.count, by: pieces) {
      try bytes[start..<min(start + pieces, bytes.count)].withUnsafeBytes {
        try reader.read($0, into: &tuples)
      }
    }
    try reader.finish()
    #expect(
      tuples == [
        FeedbackTuple(seconds: 0x6566_6768, token: Self.token),
        FeedbackTuple(seconds: 1, token: [0xAB]),
      ])
    #expect(tuples.last?.hexToken == "ab" && tuples.last?.milliseconds == 1000)
  }

  @Test func tellsAStreamThatIsCutShortOrNone() throws {
    var cut = FeedbackReader()
    let bytes: [UInt8] = [0, 0, 0, 1, 0, 2, 7]
    var tuples: [FeedbackTuple] = []
    try bytes.withUnsafeBytes { try cut.read($0, into: &tuples) }
    #expect(tuples.isEmpty)
    #expect(throws: FeedbackReader.Failure.cutShort) { try cut.finish() }
    for length in [[0, 0], [1, 1]] as [[UInt8]] {
      var wrong = FeedbackReader()
      #expect(throws: FeedbackReader.Failure.self) {
        let bytes = [0, 0, 0, 1, 0, 1, 7] + [0, 0, 0, 1] + length
        try bytes.withUnsafeBytes { try wrong.read($0, into: &tuples) }
      }
      #expect(tuples.popLast() == FeedbackTuple(seconds: 1, token: [7]), "what came before it")
    }
  }
}
