import JSON

/// Everything that was asked of the simulator, in numbers.
package struct FCMSimulatorSummary: Sendable, Equatable {
  /// Requests to send a message, whatever became of them.
  package var requests = 0
  package var accepted = 0
  /// Requests with `validateOnly` that were in order.
  package var validated = 0
  /// Answers to requests to send, by HTTP status.
  package var byStatus: [Int: Int] = [:]
  /// Refusals by the `errorCode` of FcmError; those without one are under "none".
  package var byErrorCode: [String: Int] = [:]
  package var unanswered = 0
  package var resets = 0
  /// Distinct registration tokens asked for.
  package var tokens = 0
  package var tokensAccepted = 0
  /// Σ (accepted − 1) over the tokens that were accepted.
  package var duplicates = 0
  /// Requests for access tokens, and those that were refused.
  package var tokenRequests = 0
  package var tokenRefusals = 0
  package var accessTokensIssued = 0
  /// Access tokens that at least one accepted message came with.
  package var accessTokensUsed = 0
  package var connections = 0
  package var openConnections = 0
  /// The most streams that were open at once on one connection.
  package var mostOpenStreams = 0
  /// Connections that were ended for too many open streams.
  package var streamExcesses = 0
  /// Microseconds since 1970; 0 when nothing came.
  package var firstArrival: Int64 = 0
  package var lastArrival: Int64 = 0

  package init() {}

  package var rejected: Int { requests - accepted - validated - unanswered - resets }

  /// One line for the end of a run.
  package var line: String {
    let codes = byErrorCode.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    let refused = codes.isEmpty ? "" : " (" + codes.joined(separator: ", ") + ")"
    return "\(requests) requests for \(tokens) tokens: \(accepted) accepted, "
      + "\(rejected) rejected\(refused), \(unanswered) unanswered, \(resets) reset; "
      + "\(duplicates) duplicates; \(accessTokensIssued) access tokens; "
      + "\(connections) connections"
  }

  package var json: JSONValue {
    func counts(_ table: some Sequence<(String, Int)>) -> JSONValue {
      .object(JSONObject(table.map { ($0.0, .integer(Int64($0.1))) }))
    }
    let statuses = byStatus.sorted { $0.key < $1.key }.map { (String($0.key), $0.value) }
    let codes = byErrorCode.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    return .object(
      JSONObject([
        ("requests", .integer(Int64(requests))),
        ("accepted", .integer(Int64(accepted))),
        ("validated", .integer(Int64(validated))),
        ("by_status", counts(statuses)),
        ("by_error_code", counts(codes)),
        ("unanswered", .integer(Int64(unanswered))),
        ("resets", .integer(Int64(resets))),
        ("tokens", .integer(Int64(tokens))),
        ("tokens_accepted", .integer(Int64(tokensAccepted))),
        ("duplicates", .integer(Int64(duplicates))),
        ("token_requests", .integer(Int64(tokenRequests))),
        ("token_refusals", .integer(Int64(tokenRefusals))),
        ("access_tokens_issued", .integer(Int64(accessTokensIssued))),
        ("access_tokens_used", .integer(Int64(accessTokensUsed))),
        ("connections", .integer(Int64(connections))),
        ("open_connections", .integer(Int64(openConnections))),
        ("most_open_streams", .integer(Int64(mostOpenStreams))),
        ("stream_excesses", .integer(Int64(streamExcesses))),
        ("first_arrival_us", .integer(firstArrival)),
        ("last_arrival_us", .integer(lastArrival)),
      ]))
  }
}
