import HTTP2
import JSON
import Text

/// A request under `/simulator/`, for whoever checks or steers a run, on the same port. It needs
/// the header `simulator-token` with what the simulator made up at its start
/// (`APNsSimulatorAddress.controlToken`).
///
/// | request | answer |
/// |---|---|
/// | `GET /simulator/ledger[?from=<n>&count=<n>]` | every token asked for, in order of arrival |
/// | `GET /simulator/summary` | the numbers of `SimulatorSummary` |
/// | `GET /simulator/pushes?token=<hex>` | the last push to a token, of the last few megabytes |
/// | `POST /simulator/script` | replaces the script (see `SimulatorScript`) |
/// | `POST /simulator/reset` | forgets ledger and numbers |
final class ControlRequest: SideRequest {
  /// Room for a script with 10,000 tokens; a longer one is a file (`--script`).
  static let maximumBodyBytes = 1 << 20
  /// For all requests together that are coming in.
  static let maximumBytesOfAll = 4 << 20

  private let path: Substring
  private let query: [Substring: Int]
  private let token: Substring
  private var body: [UInt8] = []
  private var isTooLarge = false
  private var isAllowed = false

  init(path: String) {
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
    self.token = token
  }

  func take(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ service: SimulatorService
  ) {
    if name.equals("simulator-token") { isAllowed = service.isControlToken(value) }
  }

  /// Keeps nothing of who may not ask.
  func append(_ bytes: UnsafeRawBufferPointer, _ service: SimulatorService) {
    guard isAllowed, !isTooLarge else { return }
    guard body.count + bytes.count <= Self.maximumBodyBytes,
      service.controlBytes + bytes.count <= Self.maximumBytesOfAll
    else {
      isTooLarge = true
      forget(service)
      return
    }
    service.controlBytes += bytes.count
    body.append(contentsOf: bytes)
  }

  /// The stream is over, or its connection.
  func forget(_ service: SimulatorService) {
    service.controlBytes -= body.count
    body = []
  }

  func answer(
    _ service: SimulatorService, _ session: HTTP2ServerSession, slot: Int, _ record: RequestRecord,
    _ proof: ClientProof?
  ) {
    let (isGet, isPost) = (record.isGet, record.isPost)
    guard isAllowed else {
      respond(
        session, slot, status: 403,
        #"{"reason":"Forbidden","message":"send the header simulator-token, which the simulator "#
          + #"prints as control_token when it starts"}"#)
      return
    }
    switch path {
    case "/simulator/pushes" where isGet:
      guard let text = service.pushes.json(of: Array(token.lowercased().utf8)) else {
        respond(session, slot, status: 404, #"{"reason":"UnknownToken"}"#)
        return
      }
      respond(session, slot, status: 200, text)
    case "/simulator/ledger" where isGet:
      guard let head = Self.head(status: 200) else { return }
      let source = LedgerBody(
        service.ledger, from: query["from"] ?? 0, count: query["count"] ?? .max)
      session.respond(slot: slot, head, source: source)
    case "/simulator/summary" where isGet:
      respond(session, slot, status: 200, JSONText.compact(service.summary.json))
    case "/simulator/reset" where isPost:
      service.reset()
      respond(session, slot, status: 200, "{}")
    case "/simulator/script" where isPost: replaceScript(service, session, slot)
    case "/simulator/ledger", "/simulator/summary", "/simulator/reset", "/simulator/script",
      "/simulator/pushes":
      respond(session, slot, status: 405, #"{"reason":"MethodNotAllowed"}"#)
    default: respond(session, slot, status: 404, #"{"reason":"BadPath"}"#)
    }
  }

  private func replaceScript(
    _ service: SimulatorService, _ session: HTTP2ServerSession, _ slot: Int
  ) {
    guard !isTooLarge else {
      respond(session, slot, status: 413, #"{"reason":"PayloadTooLarge"}"#)
      return
    }
    do {
      service.replaceScript(try body.withUnsafeBytes { try SimulatorScript.parse($0) })
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
