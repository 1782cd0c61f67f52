import HTTP2
import JSON
import Text

/// What whoever checks or steers a run asks of a simulator. Confined to its loop.
package protocol ControlledSimulator: AnyObject {
  /// The number of tokens that were asked for.
  var ledgerCount: Int { get }
  /// Appends an entry of the ledger: `"<token>":{"requests":1,"accepted":1,"first_us":…,
  /// "last_status":200}`.
  /// - Parameter position: below `ledgerCount`, in order of arrival.
  func appendLedgerEntry(_ position: Int, to output: inout [UInt8])
  /// All numbers of the run.
  var summaryJSON: JSONValue { get }
  /// The last push to a token, as JSON; nil when there is none or it is too long ago.
  func lastPush(to token: String) -> String?
  /// Reads a script and follows it from now on.
  func replaceScript(_ text: [UInt8]) throws(SimulatorError)
  /// Forgets ledger and numbers; connections and script stay.
  func reset()
}

/// A request under `/simulator/`, on the port of the pushes. It needs the header `simulator-token`
/// with the simulator's token (`ControlAccess`).
///
/// | request | answer |
/// |---|---|
/// | `GET /simulator/ledger[?from=<n>&count=<n>]` | every token asked for, in order of arrival |
/// | `GET /simulator/summary` | the numbers of the run |
/// | `GET /simulator/pushes?token=<token>` | the last push to a token, while it is kept |
/// | `POST /simulator/script` | replaces the script |
/// | `POST /simulator/reset` | forgets ledger and numbers |
package final class ControlRequest {
  /// Enough for a script with 10,000 tokens; a longer one is a file (`--script`).
  private static let maximumBodyBytes = 1 << 20

  private let access: ControlAccess
  private let path: Substring
  private let query: [Substring: Int]
  private let token: String
  private var body: [UInt8] = []
  private var isTooLarge = false
  private var isAllowed = false

  package static func isPath(_ path: UnsafeRawBufferPointer) -> Bool {
    path.starts(with: "/simulator/".utf8)
  }

  package init(path: String, _ access: ControlAccess) {
    self.access = access
    let sides = path.split(separator: "?", maxSplits: 1)
    self.path = sides.first ?? ""
    var query: [Substring: Int] = [:]
    var token: Substring = ""
    for pair in (sides.count > 1 ? sides[1] : "").split(separator: "&") {
      let parts = pair.split(separator: "=")
      if parts.count == 2, parts[0] == "token" { token = parts[1] }
      if parts.count == 2, let number = Int(parts[1]) { query[parts[0]] = number }
    }
    self.query = query
    self.token = Self.decoded(token)
  }

  deinit { forget() }

  private static func decoded(_ text: Substring) -> String {
    let plain = Array(text.utf8).withUnsafeBytes { PercentText.decoded($0, isStrict: true) }
    return plain.map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  package func take(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    if name.elementsEqual("simulator-token".utf8) { isAllowed = access.allows(value) }
  }

  /// Keeps nothing of a request that may not ask.
  package func append(_ bytes: UnsafeRawBufferPointer) {
    guard isAllowed, !isTooLarge else { return }
    guard body.count + bytes.count <= Self.maximumBodyBytes, access.reserve(bytes.count) else {
      isTooLarge = true
      return forget()
    }
    body.append(contentsOf: bytes)
  }

  /// The stream is over, or its connection.
  package func forget() {
    access.release(body.count)
    body = []
  }

  /// It is complete.
  package func answer(
    _ simulator: some ControlledSimulator, _ session: HTTP2ServerSession, slot: Int, isGet: Bool,
    isPost: Bool
  ) {
    guard isAllowed else {
      respond(
        session, slot, status: 403,
        #"{"reason":"Forbidden","message":"send the header simulator-token, which the simulator "#
          + #"prints as control_token when it starts"}"#)
      return
    }
    switch path {
    case "/simulator/pushes" where isGet:
      guard let text = simulator.lastPush(to: token) else {
        respond(session, slot, status: 404, #"{"reason":"UnknownToken"}"#)
        return
      }
      respond(session, slot, status: 200, text)
    case "/simulator/ledger" where isGet:
      guard let head = Self.head(status: 200) else { return }
      let source = LedgerBody(simulator, from: query["from"] ?? 0, count: query["count"] ?? .max)
      session.respond(slot: slot, head, source: source)
    case "/simulator/summary" where isGet:
      respond(session, slot, status: 200, JSONText.compact(simulator.summaryJSON))
    case "/simulator/reset" where isPost:
      simulator.reset()
      respond(session, slot, status: 200, "{}")
    case "/simulator/script" where isPost: replaceScript(simulator, session, slot)
    case "/simulator/ledger", "/simulator/summary", "/simulator/reset", "/simulator/script",
      "/simulator/pushes":
      respond(session, slot, status: 405, #"{"reason":"MethodNotAllowed"}"#)
    default: respond(session, slot, status: 404, #"{"reason":"BadPath"}"#)
    }
  }

  private func replaceScript(
    _ simulator: some ControlledSimulator, _ session: HTTP2ServerSession, _ slot: Int
  ) {
    guard !isTooLarge else {
      respond(session, slot, status: 413, #"{"reason":"PayloadTooLarge"}"#)
      return
    }
    do {
      try simulator.replaceScript(body)
      respond(session, slot, status: 200, "{}")
    } catch {
      let reason = JSONString.quoted("\(error)")
      respond(session, slot, status: 400, "{\"reason\":\"BadScript\",\"message\":\(reason)}")
    }
  }

  private func respond(_ session: HTTP2ServerSession, _ slot: Int, status: Int, _ text: String) {
    guard let head = Self.head(status: status) else { return }
    _ = Array((text + "\n").utf8).withUnsafeBytes { session.respond(slot: slot, head, body: $0) }
  }

  private static func head(status: Int) -> HTTP2FieldBlock? {
    try? HTTP2FieldBlock(
      [(":status", String(status), .indexed), ("content-type", "application/json", .indexed)],
      values: .copied)
  }
}

/// The ledger as JSON, made while it is sent: `{"tokens":{"<token>":{"requests":1,"accepted":1,
/// "first_us":…,"last_status":200},…}}`. Entries that come while it runs are in it or not.
private final class LedgerBody<Simulator: ControlledSimulator>: HTTP2BodySource {
  private let simulator: Simulator
  private var position: Int
  private let end: Int
  private var pending: [UInt8] = Array("{\"tokens\":{".utf8)
  private var sent = 0
  private var isFirst = true
  private var isClosed = false

  init(_ simulator: Simulator, from first: Int, count: Int) {
    self.simulator = simulator
    position = min(max(first, 0), simulator.ledgerCount)
    end = position + min(max(count, 0), simulator.ledgerCount - position)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isFinal: Bool) {
    fill(atLeast: buffer.count)
    let count = min(pending.count - sent, buffer.count)
    pending.withUnsafeBytes {
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[sent..<sent + count]))
    }
    sent += count
    return (count, isClosed && sent == pending.count)
  }

  private func fill(atLeast wanted: Int) {
    guard !isClosed, pending.count - sent < wanted else { return }
    pending.removeFirst(sent)
    sent = 0
    // A reset may have emptied the ledger meanwhile.
    while pending.count < wanted, position < min(end, simulator.ledgerCount) {
      if !isFirst { pending.append(UInt8(ascii: ",")) }
      isFirst = false
      simulator.appendLedgerEntry(position, to: &pending)
      position += 1
    }
    if pending.count < wanted {
      pending += "}}\n".utf8
      isClosed = true
    }
  }
}
