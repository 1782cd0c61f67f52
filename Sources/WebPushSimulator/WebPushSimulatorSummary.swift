import JSON

/// Everything that was asked of the simulator, in numbers.
package struct WebPushSimulatorSummary: Sendable, Equatable {
  /// Requests to push a message, whatever became of them.
  package var requests = 0
  package var accepted = 0
  /// Answers to requests to push, by HTTP status.
  package var byStatus: [Int: Int] = [:]
  /// Refusals by `WebPushRefusal.Reason`; a script's own responses are under "script".
  package var byReason: [String: Int] = [:]
  /// Accepted messages by the service that took them (`ServiceDialect`).
  package var byService: [String: Int] = [:]
  package var unanswered = 0
  package var resets = 0
  /// Distinct subscriptions that a request in order was for.
  package var subscriptions = 0
  package var subscriptionsAccepted = 0
  /// Σ (accepted − 1) over the subscriptions that were accepted.
  package var duplicates = 0
  /// Signatures of VAPID tokens that were verified: each distinct token once, while it is
  /// remembered.
  package var tokenVerifications = 0
  package var connections = 0
  /// Those of `connections` that spoke HTTP/1.1.
  package var http1Connections = 0
  package var openConnections = 0
  /// The most streams that were open at once on one connection.
  package var mostOpenStreams = 0
  /// Microseconds since 1970; 0 when nothing came.
  package var firstArrival: Int64 = 0
  package var lastArrival: Int64 = 0

  package init() {}

  package var rejected: Int { requests - accepted - unanswered - resets }

  /// One line for the end of a run.
  package var line: String {
    let reasons = byReason.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    let refused = reasons.isEmpty ? "" : " (" + reasons.joined(separator: ", ") + ")"
    return "\(requests) requests for \(subscriptions) subscriptions: \(accepted) accepted, "
      + "\(rejected) rejected\(refused), \(unanswered) unanswered, \(resets) reset; "
      + "\(duplicates) duplicates; \(connections) connections"
  }

  package var json: JSONValue {
    func counts(_ table: some Sequence<(String, Int)>) -> JSONValue {
      .object(JSONObject(table.map { ($0.0, .integer(Int64($0.1))) }))
    }
    func byName(_ table: [String: Int]) -> JSONValue {
      counts(table.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }
    let statuses = byStatus.sorted { $0.key < $1.key }.map { (String($0.key), $0.value) }
    return .object(
      JSONObject([
        ("requests", .integer(Int64(requests))),
        ("accepted", .integer(Int64(accepted))),
        ("by_status", counts(statuses)),
        ("by_reason", byName(byReason)),
        ("by_service", byName(byService)),
        ("unanswered", .integer(Int64(unanswered))),
        ("resets", .integer(Int64(resets))),
        ("subscriptions", .integer(Int64(subscriptions))),
        ("subscriptions_accepted", .integer(Int64(subscriptionsAccepted))),
        ("duplicates", .integer(Int64(duplicates))),
        ("token_verifications", .integer(Int64(tokenVerifications))),
        ("connections", .integer(Int64(connections))),
        ("http1_connections", .integer(Int64(http1Connections))),
        ("open_connections", .integer(Int64(openConnections))),
        ("most_open_streams", .integer(Int64(mostOpenStreams))),
        ("first_arrival_us", .integer(firstArrival)),
        ("last_arrival_us", .integer(lastArrival)),
      ]))
  }
}
