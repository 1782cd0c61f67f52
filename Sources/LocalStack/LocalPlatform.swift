import Processes
import ServerProcesses
import Terminal

/// A platform that a run's worker sends to: the simulator that stands in for its push service, and
/// the section of the worker's configuration that leads there. Another platform is one more
/// function here.
package struct LocalPlatform: Sendable {
  package let service: SimulatedService
  /// Of `fanfare simulator`, beside its platform and directory.
  package let simulatorFlags: [String]
  let section: @Sendable (SimulatorProcess) throws(LocalRunError) -> String

  /// The least of the privileged ports; nobody listens there.
  private static let closedPort = 1

  /// - Parameters:
  ///   - closesSandbox: the worker's sandbox is an address where nobody listens.
  ///   - connections: of a lane to each server, and no others under load; nil: what comes by
  ///     default.
  package static func apns(
    _ simulatorFlags: [String] = [], closesSandbox: Bool = false, connections: Int? = nil
  ) -> LocalPlatform {
    LocalPlatform(service: .apns, simulatorFlags: simulatorFlags) {
      (simulator) throws(LocalRunError) in
      let (host, port) = (quoted(simulator.endpoint.host), simulator.endpoint.port)
      let connections =
        connections.map {
          "  connections_per_lane: \($0)\n  connections_per_lane_maximum: \($0)\n"
        } ?? ""
      return """
        apns:
          production: { host: \(host), port: \(port) }
          sandbox: { host: \(host), port: \(closesSandbox ? closedPort : port) }
          ca_file: \(quoted(simulator.caFile))
          key_file: \(quoted(try simulator.text("key_file")))
          key_id: \(quoted(try simulator.text("key_id")))
          team_id: \(quoted(try simulator.text("team_id")))
        \(connections)
        """
    }
  }

  package static func fcm(_ simulatorFlags: [String] = []) -> LocalPlatform {
    LocalPlatform(service: .fcm, simulatorFlags: simulatorFlags) {
      (simulator) throws(LocalRunError) in
      """
      fcm:
        host: \(quoted(simulator.endpoint.host))
        port: \(simulator.endpoint.port)
        ca_file: \(quoted(simulator.caFile))
        service_account_file: \(quoted(try simulator.text("service_account_file")))

      """
    }
  }

  /// All endpoints lead to the simulator, whatever host they name.
  package static func webpush(_ simulatorFlags: [String] = []) -> LocalPlatform {
    LocalPlatform(service: .webpush, simulatorFlags: simulatorFlags) {
      (simulator) throws(LocalRunError) in
      """
      webpush:
        vapid_key_file: \(quoted(try simulator.text("vapid_key_file")))
        subject: \(quoted(try simulator.text("subject")))
        ca_file: \(quoted(simulator.caFile))
        connect_to: \(quoted("\(simulator.endpoint)"))

      """
    }
  }

  private static func quoted(_ text: String) -> String { JSONOutput.text(text).serialized() }
}
