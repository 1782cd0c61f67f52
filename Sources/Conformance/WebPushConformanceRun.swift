import Deliver
import SingleRequests
import TLS
import Transport
import WebPushSimulator

/// Asks a simulator of the browsers' push services every row of the table, over the wire, each on a
/// connection of its own.
package struct WebPushConformanceRun {
  private static let timeout: Duration = .seconds(10)

  private let simulator: WebPushSimulator
  private let sender: WebPushSender
  private let route: RouteTarget

  /// - Parameters:
  ///   - vapidKey: PEM, the private key that the simulator made.
  ///   - nowSeconds: since 1970.
  package init(
    _ simulator: WebPushSimulator, _ address: WebPushSimulatorAddress, vapidKey: String,
    nowSeconds: Int64
  ) throws {
    self.simulator = simulator
    sender = try WebPushSender(vapidKey: vapidKey, nowSeconds: nowSeconds)
    route = RouteTarget(
      endpoint: Endpoint(host: address.host, port: address.port),
      tls: try TLSClientContext(caFile: address.authorityFile, alpn: ["h2"]))
  }

  package func results() async throws -> [ConformanceResult] {
    var results: [ConformanceResult] = []
    for row in try await rows() {
      let reply = await SingleRequest.ask(
        row.request, on: route, authorization: nil, timeout: Self.timeout)
      results.append(row.result(reply))
    }
    return results
  }

  /// Each rule for each service that has it, with a subscription of its own.
  package func rows() async throws -> [WebPushConformanceRow] {
    var rows: [WebPushConformanceRow] = []
    for rule in WebPushConformance.rules {
      for service in ServiceDialect.allCases {
        guard let answer = rule.answers[service] else { continue }
        let subscription = try await simulator.numberedSubscription(
          rows.count, host: WebPushConformance.host(service), rule.fault.map { MagicFault($0) })
        var draft = try WebPushDraft(subscription, of: service, sender)
        try rule.spoil(&draft, sender)
        rows.append(
          WebPushConformanceRow(
            rule: "\(service.rawValue): \(rule.text)", request: draft.request, answer: answer,
            carried: rule.carried))
      }
    }
    return rows
  }
}
