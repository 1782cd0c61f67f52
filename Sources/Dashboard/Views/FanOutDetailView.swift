import JSON
import Model
import Record

/// The view of one fan-out beside its row: where pushes were lost, and why.
struct FanOutDetailView {
  let row: FanOutView
  let detail: FanOutDetails.Detail
  let texts: [TemplateSample.Text]?
  let advice: (_ reason: String, _ platform: String?) -> String

  private static let mostSegments = 20

  var members: [(String, JSONValue)] {
    let document = detail.document.flatMap { try? JSONValue.parseWithAnyIntegers($0) }
    var row = row
    row.title = document.flatMap { EventTitle.read($0) }
    return row.members + [
      ("funnel", .array(funnel)), ("outcomes", .array(outcomes)),
      ("slowest_segments", slowestSegments), ("document", document ?? .null),
      (
        "texts",
        texts.map { texts in
          .array(texts.map { .object(JSONObject(TemplateView.members(of: $0))) })
        } ?? .null
      ),
    ]
  }

  // MARK: where pushes are lost

  private typealias Loss = (why: String, count: Int)

  /// From followers, which are people, to devices, and then to what became of each device's push.
  private var funnel: [JSONValue] {
    let status = row.status
    let unrenderable = status.rejected["Unrenderable"] ?? 0
    let unsent: [Loss] = [
      ("expired", status.expired), ("cancelled", status.cancelled),
      ("NoRoute", status.rejected["NoRoute"] ?? 0),
      ("Unwritable", status.rejected["Unwritable"] ?? 0),
    ]
    let ruled = status.suppressedByRule.map { Loss($0.key, $0.value) }
    let ours = ["Unrenderable", "NoRoute", "Unwritable"]
    let refused = status.rejected.filter { !ours.contains($0.key) }.map { Loss($0.key, $0.value) }
    var left = status.pushes
    func step(_ name: String, losing losses: [Loss]) -> JSONValue {
      left -= losses.reduce(0) { $0 + $1.count }
      return Self.step(name, left, losses)
    }
    return [
      Self.step("followers", status.recipients, []),
      Self.step(
        "devices", status.pushes,
        [
          ("skipped: Redis holds something else", status.skipped),
          ("segments not read before the expiry", status.unread),
        ]),
      step("after rules", losing: ruled),
      step("rendered", losing: [("Unrenderable", unrenderable)]),
      step("sent", losing: unsent),
      step("accepted", losing: refused),
    ]
  }

  private static func step(_ name: String, _ count: Int, _ losses: [Loss]) -> JSONValue {
    let lost = losses.filter { $0.count > 0 }.sorted { ($1.count, $0.why) < ($0.count, $1.why) }
    return .object(
      JSONObject([
        ("name", .string(name)), ("count", .integer(Int64(max(0, count)))),
        (
          "lost",
          .array(
            lost.map {
              .object(
                JSONObject([("why", .string($0.why)), ("count", .integer(Int64($0.count)))]))
            })
        ),
      ]))
  }

  // MARK: outcomes

  private var outcomes: [JSONValue] {
    let status = row.status
    var rows: [(outcome: String, reason: String?, count: Int)] = [
      ("accepted", nil, status.accepted), ("expired", nil, status.expired),
      ("cancelled", nil, status.cancelled), ("waiting", nil, status.waiting),
    ]
    rows += status.rejected.map { ("rejected", $0.key, $0.value) }
    rows += status.suppressedByRule.map { ("suppressed", $0.key, $0.value) }
    return rows.filter { $0.count > 0 }
      .sorted { ($1.count, $0.outcome, $0.reason ?? "") < ($0.count, $1.outcome, $1.reason ?? "") }
      .map { row in
        let platform = row.outcome == "rejected" ? row.reason.flatMap(Self.platform) : nil
        return .object(
          JSONObject([
            ("platform", JSONValue(optional: platform)), ("outcome", .string(row.outcome)),
            ("reason", JSONValue(optional: row.reason)), ("count", .integer(Int64(row.count))),
            ("advice", .string(advice(of: row.outcome, row.reason, platform))),
          ]))
      }
  }

  /// Nil for ours, and for one that several platforms give.
  private static func platform(of reason: String) -> String? {
    let all = RejectionReason.all.filter { $0.name.utf8.elementsEqual(reason.utf8) }
    return all.count == 1 ? all[0].platform : nil
  }

  private func advice(of outcome: String, _ reason: String?, _ platform: String?) -> String {
    switch outcome {
    case "rejected": advice(reason ?? "", platform)
    case "expired": "look at what held pushes up, or let such events live longer (expires_in)"
    case "cancelled": "nothing: somebody stopped it, or the device was unbound meanwhile"
    case "suppressed": "nothing: the rule \(reason ?? "") kept it back"
    case "waiting":
      row.status.obstacle.isEmpty ? "it is tried again" : "look at \(row.status.obstacle)"
    default: ""
    }
  }

  // MARK: segments

  private var slowestSegments: JSONValue {
    guard let claims = detail.claims else { return .null }
    return .array(
      claims.prefix(Self.mostSegments).map { claim in
        .object(
          JSONObject([
            ("segment", .string(claim.segment)), ("worker", .string(claim.worker)),
            ("since_ms", .integer(claim.since)), ("claim_ends_ms", .integer(claim.endsAt)),
          ]))
      })
  }
}
