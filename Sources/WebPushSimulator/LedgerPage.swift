import Text

/// A part of the ledger, in order of arrival: `{"tokens":{"<endpoint>":{"requests":1,"accepted":1,
/// "first_us":…,"last_status":201,"number":7},…}}`. The number is that of a subscription by number.
/// Other simulators show their ledgers in the same form.
struct LedgerPage {
  /// 9 MB of JSON.
  static let mostEntries = 50_000

  private let from: Int
  private let count: Int

  /// - Parameter query: `from`, by default 0, and `count`, by default and at most `mostEntries`.
  init(query: Substring) {
    var (from, count) = (0, Self.mostEntries)
    for pair in query.split(separator: "&") {
      let sides = pair.split(separator: "=")
      guard sides.count == 2, let number = Int(sides[1]) else { continue }
      if sides[0] == "from" { from = max(number, 0) }
      if sides[0] == "count" { count = min(max(number, 0), Self.mostEntries) }
    }
    (self.from, self.count) = (from, count)
  }

  func answer(_ service: SimulatorService) -> ServiceAnswer {
    var body = Array("{\"tokens\":{".utf8)
    let start = min(from, service.ledger.count)
    for place in start..<min(start + count, service.ledger.count) {
      if place > start { body.append(UInt8(ascii: ",")) }
      append(place, service, to: &body)
    }
    body += "}}\n".utf8
    return ServiceAnswer(
      status: 200, type: "application/json", body: String(decoding: body, as: UTF8.self))
  }

  private func append(_ place: Int, _ service: SimulatorService, to body: inout [UInt8]) {
    let entry = service.ledger[place]
    let id = service.ledger.token(at: place)
    JSONString.append(service.subscriptions.endpoint(of: id), to: &body)
    body += ":{\"requests\":\(entry.requests),\"accepted\":\(entry.accepted),".utf8
    body += "\"first_us\":\(entry.firstArrival),\"last_status\":\(entry.lastStatus)".utf8
    if let number = service.subscriptions.number(of: id) { body += ",\"number\":\(number)".utf8 }
    body.append(UInt8(ascii: "}"))
  }
}
