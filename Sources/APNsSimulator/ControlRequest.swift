import HTTP2
import JSON

/// A request under `/simulator/`, for whoever checks or steers a run; no authorisation, on the same
/// port.
///
/// | request | answer |
/// |---|---|
/// | `GET /simulator/ledger[?from=<n>&count=<n>]` | every token asked for, in order of arrival |
/// | `GET /simulator/summary` | the numbers of `SimulatorSummary` |
/// | `POST /simulator/script` | replaces the script (see `SimulatorScript`) |
/// | `POST /simulator/reset` | forgets ledger and numbers |
final class ControlRequest {
  /// Room for a script with 100,000 tokens.
  static let maximumBodyBytes = 8 << 20

  private let path: Substring
  private let query: [Substring: Int]
  private var body: [UInt8] = []
  private var isTooLarge = false

  init(path: String) {
    let sides = path.split(separator: "?", maxSplits: 1)
    self.path = sides.first ?? ""
    var query: [Substring: Int] = [:]
    for pair in (sides.count > 1 ? sides[1] : "").split(separator: "&") {
      let parts = pair.split(separator: "=")
      if parts.count == 2, let number = Int(parts[1]) { query[parts[0]] = number }
    }
    self.query = query
  }

  func append(_ bytes: UnsafeRawBufferPointer) {
    guard body.count + bytes.count <= Self.maximumBodyBytes else {
      isTooLarge = true
      body = []
      return
    }
    body.append(contentsOf: bytes)
  }

  func answer(
    _ service: SimulatorService, _ session: HTTP2ServerSession, slot: Int, isGet: Bool, isPost: Bool
  ) {
    switch path {
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
    case "/simulator/ledger", "/simulator/summary", "/simulator/reset", "/simulator/script":
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
      let reason = JSONText.quoted("\(error)")
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
