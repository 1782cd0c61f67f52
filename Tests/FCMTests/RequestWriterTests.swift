import HTTP2
import JSON
import Model
import Testing

@testable import Deliver
@testable import FCM

/// A connection's writer, and the server that reads what it writes.
private final class Bed {
  static let now: Int64 = 1_700_000_000_000
  static let payload = #","priority":"HIGH"},"data":{"id":"7"}"#

  let writer: FCMRequestWriter
  let batch: PushBatch
  private let shared: SharedHeaders
  private let client: HTTP2ClientSession
  private let server: HTTP2ServerSession

  init(
    tokens: [String], payload: String = Bed.payload, expiration: Int64 = 1,
    expiresIn: Int64 = 90_000, bearer: String = "ya29.abc"
  ) throws {
    writer = try FCMRequestWriter(
      authority: "fcm.googleapis.com:443", project: FCMProject("p-1"), slots: 4,
      wallClock: { Bed.now })
    let headers = PushHeaders(
      pushType: .alert, priority: 10, topic: "a.b", collapseID: nil, expiration: expiration,
      expiresAt: Self.now + expiresIn)
    batch = PushBatch(event: "e", headers: headers, tally: SegmentTally())
    let page = RecipientPage(fieldNames: [])
    let user = page.bytes.append(utf8: "u1")
    let destination = Destination.add(.fcm)[0]
    for token in tokens {
      let member = page.bytes.append(utf8: "fcm::a.b:" + token)
      batch.append(
        recipient: .init(user: user, firstBinding: 0, bindingCount: 1),
        binding: .init(
          member: member, token: member.last(token.utf8.count), destination: destination),
        of: page, payload: batch.bytes.append(utf8: payload))
    }
    batch.seal()
    let token = AccessToken(bearer)
    shared = SharedHeaders(headers, token, fields: token)
    var options = HTTP2ClientOptions()
    options.assumedMaximumStreams = 100
    client = try HTTP2ClientSession(options: options)
    server = try HTTP2ServerSession(options: HTTP2ServerOptions())
  }

  /// The body of one push; nil where it is refused.
  func body(_ index: Int, slot: Int = 0) -> String? {
    guard let fields = writer.fields(sharing: shared) else { return nil }
    return writer.fill(fields, for: batch[index], in: batch.bytes, slot: slot)
      .map { String(decoding: $0, as: UTF8.self) }
  }

  struct Request: Equatable {
    var fields: [String] = []
    var body = ""
  }

  /// All pushes, as a server gets them.
  func send() throws -> [Request] {
    let fields = try #require(writer.fields(sharing: shared))
    for index in batch.entries.indices {
      let body = writer.fill(fields, for: batch[index], in: batch.bytes, slot: index)
      _ = try client.submit(fields, body: try #require(body), slot: index)
    }
    while let bytes = try client.nextOutput() { try server.receive(bytes) }
    var requests: [Int: Request] = [:]
    while let heard = server.nextHeard() {
      switch heard {
      case .began(let slot, _): requests[slot] = Request()
      case .field(let slot, let name, let value):
        let text = [name, value].map { String(decoding: $0, as: UTF8.self) }
        requests[slot]?.fields.append(text.joined(separator: "="))
      case .body(let slot, let bytes):
        requests[slot]?.body += String(decoding: bytes, as: UTF8.self)
      case .ended, .closed: break
      }
    }
    return requests.sorted { $0.key < $1.key }.map(\.value)
  }
}

@Suite struct RequestWriterTests {
  private static let installation = "cAbcdefghij-_0123456789".prefix(22)

  @Test func aServerGetsWhatGoogleAsksFor() throws {
    let requests = try Bed(tokens: ["abc:APA91b", "x"]).send()
    let fields = [
      ":method=POST", ":scheme=https", ":authority=fcm.googleapis.com:443",
      ":path=/v1/projects/p-1/messages:send", "content-type=application/json",
      "authorization=Bearer ya29.abc",
    ]
    #expect(
      requests
        == ["abc:APA91b", "x"].map {
          Bed.Request(
            fields: fields,
            body: #"{"message":{"token":"\#($0)","android":{"ttl":"90s","priority":"HIGH"},"#
              + #""data":{"id":"7"}}}"#)
        })
  }

  @Test(
    arguments: [
      (1, 90_999, 90), (1, 1_000, 1), (1, 999, 0), (1, 0, 0), (1, -5_000, 0),
      (1, 2_419_200_000, 2_419_200), (1, 9_000_000_000, 2_419_200),
      // One attempt, which is not stored.
      (0, 90_000, 0),
    ] as [(Int64, Int64, Int)])
  func aPushIsKeptAsLongAsItsNewsLasts(
    expiration: Int64, milliseconds: Int64, seconds: Int
  ) throws {
    let body = try Bed(tokens: ["x"], expiration: expiration, expiresIn: milliseconds).body(0)
    #expect(body?.hasPrefix(#"{"message":{"token":"x","android":{"ttl":"\#(seconds)s","#) == true)
  }

  @Test func anInstallationIDHasAMemberOfItsOwn() throws {
    let id = String(Self.installation)
    let others = [
      "g" + id.dropFirst(), "C" + id.dropFirst(), id + "x", String(id.dropLast()),
      id.dropLast() + ":", "f" + id.dropFirst(),
    ]
    let bed = try Bed(tokens: [id] + others)
    let members = try (0...others.count).map { index -> String? in
      let value = try JSONValue.parse(Array(try #require(bed.body(index)).utf8))
      return value.object?["message"]?.object?.members.first?.name
    }
    #expect(members == ["fid", "token", "token", "token", "token", "token", "fid"])
  }

  @Test(arguments: [
    #"a"b"#, #"\"#, #""}},"x":"\u0041"#, String(repeating: "\"", count: 4096), "~!",
  ])
  func aTokenIsWrittenAsItIs(token: String) throws {
    let body = try #require(try Bed(tokens: [token]).body(0))
    let value = try JSONValue.parse(Array(body.utf8))
    #expect(value.object?["message"]?.object?["token"]?.string == token)
  }

  @Test(arguments: ["a\nb", "a\u{7F}", "é", "\u{0}"])
  func aTokenThatIsNoTextIsRefused(token: String) throws {
    #expect(try Bed(tokens: [token]).body(0) == nil)
  }

  @Test func aCredentialThatIsNoHeaderIsRefused() throws {
    let bed = try Bed(tokens: ["x"], bearer: "a\r\nb: c")
    #expect(bed.body(0) == nil)
  }

  /// Bodies that are in flight together stay as they are, and an idle slot takes nothing.
  @Test func eachSlotHasMemoryOfItsOwnThatGrows() throws {
    let bodies = SlotBodies(slots: 3)
    #expect(bodies.bytes == 0)
    let first = bodies.lend(0, 100)
    first.copyBytes(from: [1])
    bodies.lend(1, 5000).copyBytes(from: [2])
    #expect(first[0] == 1 && first.count == 1024 && bodies.bytes == 1024 + 5120)
    #expect(
      bodies.lend(1, 200).count == 5120 && bodies.lend(0, 1024).baseAddress == first.baseAddress)
    #expect(bodies.lend(0, 1025).count == 2048)
  }
}
