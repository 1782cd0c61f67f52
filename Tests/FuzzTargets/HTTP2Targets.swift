import HTTP2

let http2Targets = [
  FuzzTarget("http2-client") { input in
    let whole = try ClientEndReading(input, [0..<input.count])
    for cut in input.cuts.prefix(2) {
      try holdEqual(try ClientEndReading(input, cut), whole, "what a client hears, in pieces")
    }
  },
  // What a client sends behind the preface.
  FuzzTarget("http2-server") { input in
    let whole = try ServerEndReading(input, [0..<input.count])
    for cut in input.cuts.prefix(2) {
      try holdEqual(try ServerEndReading(input, cut), whole, "what a server hears, in pieces")
    }
    try ServerEndReading.answerAtOnce(input)
  },
]

private func block(_ fields: [(String, String)]) throws(HTTP2Error) -> HTTP2FieldBlock {
  try HTTP2FieldBlock(
    fields.map { (name: $0.0, value: $0.1, indexing: .indexed) }, values: .copied)
}

/// A client with three requests, two of them with a body, that reads a server's bytes.
private struct ClientEndReading: Equatable {
  private var ended: [String] = []
  /// Of a connection that goes on; the last words of another depend on when it is heard.
  private var output: [UInt8]? = []
  private var state = ""

  init(_ input: UnsafeRawBufferPointer, _ pieces: [Range<Int>]) throws {
    var options = HTTP2ClientOptions()
    options.maximumSlots = 3
    options.assumedMaximumStreams = 3
    options.keptFields = .all
    let session = try HTTP2ClientSession(options: options)
    let body: StaticString = "{\"aps\":{}}"
    let bytes = UnsafeRawBufferPointer(start: body.utf8Start, count: body.utf8CodeUnitCount)
    let request = try block([
      (":method", "POST"), (":scheme", "https"), (":path", "/3/device/ab"), (":authority", "a"),
    ])
    for slot in 0..<3 {
      let body = slot == 0 ? UnsafeRawBufferPointer(start: nil, count: 0) : bytes
      _ = try session.submit(request, body: body, slot: slot)
    }
    try write(session)
    var heard: Set<Int> = []
    do throws(HTTP2Error) {
      for piece in pieces { try session.receive(input[piece: piece]) }
      try write(session)
    } catch {}
    while let end = session.nextEnded() {
      try hold(heard.insert(end.slot).inserted, "slot \(end.slot) ends twice")
      let fields = end.content?.fields.map { "\($0.name)=\($0.value)" } ?? []
      ended.append(
        "\(end.slot) \(end.status) \(end.errorCode) \(end.wasSent) \(end.wasWhole) \(fields) "
          + "\(end.content?.body ?? [])")
      try hold(end.status == 0 || (100...999).contains(end.status), "the status \(end.status)")
    }
    try holdEqual(session.openStreams, 3 - heard.count, "streams that are open")
    let goAway = session.takeGoAway().map { "\($0.lastStreamID) \($0.errorCode) \($0.debug)" }
    state =
      "\(session.remoteMaxConcurrentStreams) \(session.settingsReceived) \(session.wantsIO) "
      + "\(session.pingAcknowledgements) \(goAway ?? "")"
    if !session.wantsIO { (output, state) = (nil, "") }
    session.abandon()
  }

  private mutating func write(_ session: HTTP2ClientSession) throws(HTTP2Error) {
    while let bytes = try session.nextOutput() { output? += bytes }
  }
}

/// A server that hears a client, and answers when all has come.
private struct ServerEndReading: Equatable {
  private struct Heard: Equatable {
    var stream: Int32
    var fields: [[UInt8]] = []
    var body: [UInt8] = []
    var hasEnded = false
    var errorCode: UInt32?
  }

  private var requests: [Heard] = []
  private var open: [Int: Int] = [:]
  /// Of a connection that goes on; the last words of another depend on when it is heard.
  private var output: [UInt8]? = []

  init(_ input: UnsafeRawBufferPointer, _ pieces: [Range<Int>]) throws {
    let session = try Self.session()
    do throws(HTTP2Error) {
      for piece in pieces { try session.receive(input[piece: piece]) }
    } catch {}
    try hear(session)
    for (slot, index) in open.sorted(by: { $0.key < $1.key }) where requests[index].hasEnded {
      Self.answer(slot, session)
    }
    do throws(HTTP2Error) {
      while let bytes = try session.nextOutput() { output? += bytes }
    } catch {}
    try hear(session)
    if !session.wantsIO { output = nil }
  }

  /// Each request as soon as it has come, as the simulator does; nothing is compared.
  static func answerAtOnce(_ input: UnsafeRawBufferPointer) throws {
    let session = try Self.session()
    do throws(HTTP2Error) {
      for start in stride(from: 0, to: input.count, by: 64) {
        try session.receive(input[piece: start..<min(start + 64, input.count)])
        while let heard = session.nextHeard() {
          if case .ended(let slot) = heard { Self.answer(slot, session) }
        }
        while try session.nextOutput() != nil {}
      }
    } catch {}
    session.abandon()
  }

  private static func session() throws -> HTTP2ServerSession {
    let session = try HTTP2ServerSession(options: HTTP2ServerOptions())
    let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    try session.receive(
      UnsafeRawBufferPointer(start: preface.utf8Start, count: preface.utf8CodeUnitCount))
    return session
  }

  private mutating func hear(_ session: HTTP2ServerSession) throws(BrokenProperty) {
    while let heard = session.nextHeard() {
      switch heard {
      case .began(let slot, let stream):
        try hold(open[slot] == nil, "slot \(slot) is taken twice")
        open[slot] = requests.count
        requests.append(Heard(stream: stream))
      case .field(let slot, let name, let value):
        try change(slot) { $0.fields += [Array(name), Array(value)] }
      case .body(let slot, let bytes): try change(slot) { $0.body += bytes }
      case .ended(let slot):
        try change(slot) { $0.hasEnded = true }
      case .closed(let slot, let errorCode):
        try change(slot) { $0.errorCode = errorCode }
        open[slot] = nil
      }
    }
  }

  private mutating func change(
    _ slot: Int, _ change: (inout Heard) -> Void
  ) throws(BrokenProperty) {
    guard let index = open[slot] else {
      throw BrokenProperty(description: "slot \(slot) is heard of while it is free")
    }
    try hold(requests[index].errorCode == nil, "slot \(slot) is heard of behind its end")
    change(&requests[index])
  }

  private static func answer(_ slot: Int, _ session: HTTP2ServerSession) {
    guard let response = try? block([(":status", "400")]) else { return }
    let body: StaticString = "{\"reason\":\"BadDeviceToken\"}"
    session.respond(
      slot: slot, response,
      body: UnsafeRawBufferPointer(start: body.utf8Start, count: body.utf8CodeUnitCount))
  }
}
