import Deliver
import SingleRequests
import Subscriptions
import TLS
import Transport
import WebPush
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
      let does = worker(for: row.service).flatMap { WorkerReaction(to: reply, of: $0) }
      results.append(row.result(reply, worker: does))
    }
    return results
  }

  /// A worker's account at a push service, which is asked for the meaning of answers alone.
  private func worker(for service: ServiceDialect) -> WebPushCredentials? {
    let host = WebPushConformance.host(service)
    guard let subject = VAPIDSubject("mailto:push@example.com"),
      let endpoint = try? PushEndpoint("https://\(host)/", rules: EndpointRules(hosts: .open))
    else { return nil }
    return WebPushCredentials(
      for: endpoint, VAPIDKeyRing(.init(subject: subject, pairs: [])),
      MessageEncryption(monotonic: { 0 }), wallClock: { 0 }, monotonic: { 0 })
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
            service: service, rule: "\(service.rawValue): \(rule.text)", request: draft.request,
            answer: answer,
            carried: rule.carried))
      }
    }
    return rows
  }
}
