import EventLoop
import JSON
import Processes
import TLS
import Terminal
import Transport

/// A simulator that runs as a child: where it is, and what it has seen.
package struct SimulatorProcess: Sendable {
  package let endpoint: Endpoint
  package let caFile: String
  package let keyFile: String
  package let keyID: String
  package let teamID: String
  private let controlToken: String
  package let trust: TLSClientContext
  /// What it printed when it was ready, for other processes.
  package let readyFile: String
  private let loop: EventLoop

  /// Tokens asked for at a time: 7 MB of JSON.
  private static let ledgerPage = 50_000

  /// - Parameters:
  ///   - ready: the line that it prints when it is ready.
  ///   - readyFile: where that line stands.
  package init(ready: JSONReport, readyFile: String, loop: EventLoop) throws(LocalRunError) {
    self.readyFile = readyFile
    endpoint = Endpoint(host: try ready.text("host"), port: try ready.integer("port"))
    caFile = try ready.text("ca_file")
    keyFile = try ready.text("key_file")
    keyID = try ready.text("key_id")
    teamID = try ready.text("team_id")
    controlToken = try ready.text("control_token")
    self.loop = loop
    do {
      trust = try TLSClientContext(caFile: caFile, alpn: ["h2"])
    } catch {
      throw LocalRunError(.failed, "the simulator's \(caFile) cannot be used: \(error)")
    }
  }

  package func totals() async throws(LocalRunError) -> LedgerTotals {
    let report = try await get("/simulator/summary")
    var totals = LedgerTotals()
    totals.requests = try report.integer("requests")
    totals.accepted = try report.integer("accepted")
    totals.tokens = try report.integer("tokens")
    totals.firstArrival = Int64(try report.integer("first_arrival_us"))
    totals.lastArrival = Int64(try report.integer("last_arrival_us"))
    totals.connections = try report.integer("connections")
    for member in try report.object("by_reason").members {
      totals.refusals[member.name] = member.value.integer.map { Int($0) } ?? 0
    }
    return totals
  }

  /// Every token asked for so far. Nothing may arrive meanwhile.
  package func ledger() async throws(LocalRunError) -> Ledger {
    var ledger = Ledger()
    var from = 0
    while true {
      let path = "/simulator/ledger?from=\(from)&count=\(Self.ledgerPage)"
      let tokens = try await get(path).object("tokens")
      for member in tokens.members {
        guard let entry = LedgerEntry(member.value) else {
          throw LocalRunError(.failed, "an entry of the simulator's ledger cannot be read")
        }
        ledger.add(member.name, entry)
      }
      from += tokens.count
      if tokens.count < Self.ledgerPage { return ledger }
    }
  }

  /// Forgets ledger and numbers.
  package func reset() async throws(LocalRunError) {
    _ = try await SimulatorRequest.body(
      of: "/simulator/reset", method: "POST", controlToken: controlToken, at: endpoint,
      trust: trust, loop: loop)
  }

  /// Replaces its script (docs/simulator.md).
  package func set(script: JSONOutput) async throws(LocalRunError) {
    _ = try await SimulatorRequest.body(
      of: "/simulator/script", method: "POST", sending: Array(script.serialized().utf8),
      controlToken: controlToken, at: endpoint, trust: trust, loop: loop)
  }

  private func get(_ path: String) async throws(LocalRunError) -> JSONReport {
    let body = try await SimulatorRequest.body(
      of: path, controlToken: controlToken, at: endpoint, trust: trust, loop: loop)
    return try JSONReport(body, of: "the simulator")
  }
}

extension LedgerEntry {
  fileprivate init?(_ value: JSONValue) {
    guard let object = value.object, let requests = object["requests"]?.integer,
      let accepted = object["accepted"]?.integer, let first = object["first_us"]?.integer,
      let status = object["last_status"]?.integer
    else { return nil }
    self.init(
      requests: Int(requests), accepted: Int(accepted), firstArrival: first,
      lastStatus: Int(status))
  }
}
