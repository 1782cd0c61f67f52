import HTTP2

/// What a client heard about one slot.
struct Heard {
  var status = 0
  var headers: [String: String] = [:]
  var body: [UInt8] = []
  var closed: [UInt32] = []
}

/// Asks a session for what it has heard.
final class RecordingClient {
  var heard: [Int: Heard] = [:]
  var goAways: [(last: Int32, code: UInt32, debug: String)] = []
  var settingsChanges = 0
  var keepsDetails = true
  var closedCount = 0
  var statusCount = 0
  var freeSlots: [Int] = []
  var bodyBytes = 0

  /// Everything that a server says is kept.
  static func options(_ options: HTTP2ClientOptions) -> HTTP2ClientOptions {
    var options = options
    options.keptFields = .all
    options.keptBodyBytes = 16 << 20
    return options
  }

  func drain(_ session: HTTP2ClientSession) {
    if session.takeSettingsChange() { settingsChanges += 1 }
    if let goAway = session.takeGoAway() {
      goAways.append(
        (goAway.lastStreamID, goAway.errorCode, String(decoding: goAway.debug, as: UTF8.self)))
    }
    while let ended = session.nextEnded() { record(ended) }
  }

  private func record(_ ended: HTTP2Ended) {
    closedCount += 1
    freeSlots.append(ended.slot)
    if ended.status != 0 { statusCount += 1 }
    bodyBytes += ended.content?.body.count ?? 0
    guard keepsDetails else { return }
    var slot = heard[ended.slot, default: Heard()]
    slot.status = ended.status
    slot.body += ended.content?.body ?? []
    slot.closed.append(ended.errorCode)
    for field in ended.content?.fields ?? [] {
      slot.headers[String(decoding: field.name, as: UTF8.self)] = String(
        decoding: field.value, as: UTF8.self)
    }
    heard[ended.slot] = slot
  }
}

/// Answers each request at once: the body comes back, `x-status` chooses the status, `x-do` other
/// deeds.
final class EchoServer {
  struct Request {
    var stream: Int32 = 0
    var fields: [(String, String)] = []
    var body: [UInt8] = []
  }
  let session: HTTP2ServerSession
  var requests: [Int: Request] = [:]
  var answers = true
  var ended: [Int] = []
  var closedCount = 0
  var openMaximum = 0
  let head: HTTP2FieldBlock

  init(options: HTTP2ServerOptions = HTTP2ServerOptions()) throws {
    head = try HTTP2FieldBlock(
      [(":status", "200", .indexed), ("apns-id", "0", .never)], values: .copied)
    session = try HTTP2ServerSession(options: options)
  }

  func hear() {
    while let heard = session.nextHeard() {
      switch heard {
      case .began(let slot, let stream):
        requests[slot] = Request(stream: stream)
        openMaximum = max(openMaximum, requests.count)
      case .field(let slot, let name, let value):
        requests[slot]?.fields.append((text(name), text(value)))
      case .body(let slot, let bytes): requests[slot]?.body += Array(bytes)
      case .ended(let slot):
        ended.append(slot)
        if answers { answer(slot) }
      case .closed(let slot, _):
        requests[slot] = nil
        closedCount += 1
      }
    }
  }

  func answer(_ slot: Int) {
    guard let request = requests[slot] else { return }
    let identifier = Array("id-\(request.stream)".utf8)
    identifier.withUnsafeBytes { _ = head.set(1, $0) }
    request.body.withUnsafeBytes { body in
      identifier.withUnsafeBytes { _ in
        _ = session.respond(slot: slot, head, body: body)
      }
    }
  }
}

func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }

/// A client and a server session with their bytes carried between them in pieces of `piece`.
final class Wire {
  let client: HTTP2ClientSession
  let recorder: RecordingClient
  let server: EchoServer
  let piece: Int
  let block: HTTP2FieldBlock

  init(
    piece: Int = .max, clientOptions: HTTP2ClientOptions = HTTP2ClientOptions(),
    serverOptions: HTTP2ServerOptions = HTTP2ServerOptions()
  ) throws {
    recorder = RecordingClient()
    client = try HTTP2ClientSession(options: RecordingClient.options(clientOptions))
    server = try EchoServer(options: serverOptions)
    self.piece = piece
    block = try Wire.requestBlock()
  }

  static func requestBlock() throws -> HTTP2FieldBlock {
    try HTTP2FieldBlock([
      (":method", "POST", .indexed), (":scheme", "https", .indexed),
      (":authority", "localhost", .indexed), (":path", "/3/device/00", .never),
      ("apns-topic", "com.example.live", .indexed),
    ])
  }

  /// Carries bytes both ways until neither side has any, and hears what they say.
  func pump() throws {
    defer { recorder.drain(client) }
    try carry()
  }

  func carry() throws {
    var moved = true
    while moved {
      moved = false
      while let bytes = try client.nextOutput() {
        moved = true
        let copy = Array(bytes)
        try feed(copy) {
          try server.session.receive($0)
          server.hear()
        }
      }
      while let bytes = try server.session.nextOutput() {
        moved = true
        let copy = Array(bytes)
        try feed(copy) { try client.receive($0) }
      }
      server.hear()
    }
  }

  func feed(_ bytes: [UInt8], to receive: (UnsafeRawBufferPointer) throws -> Void) throws {
    try bytes.withUnsafeBytes { whole in
      var start = 0
      while start < whole.count {
        let end = piece < whole.count - start ? start + piece : whole.count
        try receive(UnsafeRawBufferPointer(rebasing: whole[start..<end]))
        start = end
      }
    }
  }
}
