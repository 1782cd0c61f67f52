import JSON

/// Everything that was asked of the simulator, in numbers.
package struct SimulatorSummary: Sendable, Equatable {
  /// Pushes that were asked for, whatever became of them.
  package var requests = 0
  package var accepted = 0
  /// Refusals by the reason in the body.
  package var byReason: [String: Int] = [:]
  package var unanswered = 0
  package var resets = 0
  /// Distinct tokens asked for.
  package var tokens = 0
  package var tokensAccepted = 0
  var tokensAcceptedMoreThanOnce = 0
  /// Σ (accepted − 1) over the tokens that were accepted.
  package var duplicates = 0
  /// Microseconds since 1970; 0 when nothing came.
  package var firstArrival: Int64 = 0
  package var lastArrival: Int64 = 0
  /// Broadcasts to channels that were accepted.
  package var broadcasts = 0
  package var connections = 0
  package var openConnections = 0
  /// Different sound provider tokens since the simulator began: workers with one key share them.
  package var providerTokens = 0

  package init() {}

  package var rejected: Int { byReason.values.reduce(0, +) }

  package var json: JSONValue {
    .object(
      JSONObject([
        ("requests", .integer(Int64(requests))),
        ("accepted", .integer(Int64(accepted))),
        ("rejected", .integer(Int64(rejected))),
        (
          "by_reason",
          .object(
            JSONObject(
              byReason.sorted { $0.key < $1.key }.map {
                ($0.key, .integer(Int64($0.value)))
              }))
        ),
        ("unanswered", .integer(Int64(unanswered))),
        ("resets", .integer(Int64(resets))),
        ("tokens", .integer(Int64(tokens))),
        ("tokens_accepted", .integer(Int64(tokensAccepted))),
        ("tokens_accepted_more_than_once", .integer(Int64(tokensAcceptedMoreThanOnce))),
        ("duplicates", .integer(Int64(duplicates))),
        ("first_arrival_us", .integer(firstArrival)),
        ("last_arrival_us", .integer(lastArrival)),
        ("broadcasts", .integer(Int64(broadcasts))),
        ("connections", .integer(Int64(connections))),
        ("open_connections", .integer(Int64(openConnections))),
        ("provider_tokens", .integer(Int64(providerTokens))),
      ]))
  }

  /// One line for the end of a run.
  package var line: String {
    let reasons = byReason.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    let refused = reasons.isEmpty ? "" : " (" + reasons.joined(separator: ", ") + ")"
    return "\(requests) requests for \(tokens) tokens: \(accepted) accepted, "
      + "\(rejected) rejected\(refused), \(unanswered) unanswered, \(resets) reset; "
      + "\(duplicates) duplicates; \(connections) connections"
  }
}
