import EventLoop
import HTTP2
import JSON
import Processes
import TLS
import Terminal
import Text
import Transport

/// A push service that `fanfare simulator` stands in for.
package struct SimulatedService: Sendable {
  /// The value of `--platform`; also the name of the simulator's directory.
  package let name: String
  /// The member of its summary that counts refusals by reason.
  let refusals: String
  /// The member of its summary that counts the distinct devices that were asked for.
  var devices = "tokens"

  package static let apns = SimulatedService(name: "apns", refusals: "by_reason")
  /// Refusals without an error code are under `none`.
  package static let fcm = SimulatedService(name: "fcm", refusals: "by_error_code")
  /// A device is a subscription, and its token the endpoint.
  package static let webpush = SimulatedService(
    name: "webpush", refusals: "by_reason", devices: "subscriptions")
}

/// A simulator that runs as a child: where it is, and what it has seen.
package struct SimulatorProcess: Sendable {
  package let service: SimulatedService
  package let endpoint: Endpoint
  package let caFile: String
  private let ready: JSONReport
  private let controlToken: String
  package let trust: TLSClientContext
  /// The line that it printed when it was ready, for other processes.
  package let readyFile: String
  private let loop: EventLoop

  /// Tokens asked for at a time: 9 MB of JSON.
  private static let ledgerPage = 50_000

  /// - Parameters:
  ///   - ready: the line that it prints when it is ready.
  ///   - readyFile: where that line stands.
  package init(
    _ service: SimulatedService, ready: JSONReport, readyFile: String, loop: EventLoop
  ) throws(LocalRunError) {
    self.service = service
    self.ready = ready
    self.readyFile = readyFile
    endpoint = Endpoint(host: try ready.text("host"), port: try ready.integer("port"))
    caFile = try ready.text("ca_file")
    controlToken = try ready.text("control_token")
    self.loop = loop
    do {
      trust = try TLSClientContext(caFile: caFile, alpn: ["h2"])
    } catch {
      throw LocalRunError(.failed, "the simulator's \(caFile) cannot be used: \(error)")
    }
  }

  /// A text of the line that it printed when it was ready: what its own service needs.
  package func text(_ name: String) throws(LocalRunError) -> String { try ready.text(name) }

  package func totals() async throws(LocalRunError) -> LedgerTotals {
    let report = try await get("/simulator/summary")
    var totals = LedgerTotals()
    totals.requests = try report.integer("requests")
    totals.accepted = try report.integer("accepted")
    totals.tokens = try report.integer(service.devices)
    totals.firstArrival = Int64(try report.integer("first_arrival_us"))
    totals.lastArrival = Int64(try report.integer("last_arrival_us"))
    totals.connections = try report.integer("connections")
    for member in try report.object(service.refusals).members {
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

  /// The last push to a device, as its platform sent it (docs/simulator.md); nil where none is
  /// kept.
  package func lastPush(to token: String) async throws(LocalRunError) -> JSON.JSONObject? {
    let path = "/simulator/pushes?token=\(PercentText.encoded(token))"
    let answer = try await SimulatorRequest.answer(
      to: path, controlToken: controlToken, at: endpoint, trust: trust, loop: loop)
    guard answer.status != 404 else { return nil }
    return try JSONReport(answer.body, of: "the simulator").object
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

/// The numbers of the simulator's ledger.
package struct LedgerTotals: Sendable, Equatable {
  package var requests = 0
  package var accepted = 0
  /// Refusals by reason; each try of a push counts.
  package var refusals: [String: Int] = [:]
  /// Distinct tokens asked for.
  package var tokens = 0
  /// Microseconds since 1970; 0 when nothing came.
  package var firstArrival: Int64 = 0
  package var lastArrival: Int64 = 0
  /// Connections that were accepted.
  package var connections = 0

  package init() {}

  /// Those of several simulators together.
  package static func + (left: LedgerTotals, right: LedgerTotals) -> LedgerTotals {
    var sum = left
    sum.requests += right.requests
    sum.accepted += right.accepted
    sum.refusals.merge(right.refusals, uniquingKeysWith: +)
    sum.tokens += right.tokens
    let arrivals = [left.firstArrival, right.firstArrival].filter { $0 > 0 }
    sum.firstArrival = arrivals.min() ?? 0
    sum.lastArrival = max(left.lastArrival, right.lastArrival)
    sum.connections += right.connections
    return sum
  }
}

/// One request to a running simulator over a connection of its own, for checks: rare, so nothing
/// is kept open between them. Confined to its loop.
package final class SimulatorRequest {
  private let block: HTTP2FieldBlock
  private let maximumBytes: Int
  private var connection: Connection?
  private var session: HTTP2ClientSession?
  private var status = 0
  /// The body that is sent with it; HTTP/2 borrows it.
  private let sent: UnsafeMutableRawBufferPointer
  private var body: [UInt8] = []
  private var failure: String?
  private var waiting: CheckedContinuation<Void, Never>?
  private var isDone = false

  private static let timeout: Duration = .seconds(30)

  /// The body of a 200 answer.
  package static func body(
    of path: String, method: String = "GET", sending sent: [UInt8] = [], controlToken: String,
    at endpoint: Endpoint, trust: TLSClientContext, loop: EventLoop, maximumBytes: Int = 32 << 20
  ) async throws(LocalRunError) -> [UInt8] {
    let answer = try await answer(
      to: path, method: method, sending: sent, controlToken: controlToken, at: endpoint,
      trust: trust, loop: loop, maximumBytes: maximumBytes)
    guard answer.status == 200 else {
      throw LocalRunError(
        .failed, "the simulator's \(path) cannot be read: status \(answer.status)")
    }
    return answer.body
  }

  /// Status and body of its answer.
  static func answer(
    to path: String, method: String = "GET", sending sent: [UInt8] = [], controlToken: String,
    at endpoint: Endpoint, trust: TLSClientContext, loop: EventLoop, maximumBytes: Int = 32 << 20
  ) async throws(LocalRunError) -> (status: Int, body: [UInt8]) {
    let request: SimulatorRequest
    do {
      request = try SimulatorRequest(method, path, sent, controlToken, maximumBytes: maximumBytes)
    } catch {
      throw LocalRunError(.failed, "\(method) \(path): \(error)")
    }
    await request.run(endpoint, trust, loop)
    if let failure = request.failure {
      throw LocalRunError(.failed, "the simulator's \(path) cannot be read: \(failure)")
    }
    return (request.status, request.body)
  }

  private init(
    _ method: String, _ path: String, _ sent: [UInt8], _ controlToken: String, maximumBytes: Int
  ) throws {
    self.maximumBytes = maximumBytes
    self.sent = .allocate(byteCount: sent.count, alignment: 1)
    self.sent.copyBytes(from: sent)
    block = try HTTP2FieldBlock([
      (":method", method, .indexed), (":scheme", "https", .indexed),
      (":authority", "localhost", .indexed), (":path", path, .never),
      ("simulator-token", controlToken, .never),
    ])
    var options = HTTP2ClientOptions()
    options.maximumSlots = 1
    options.limits.streamWindowBytes = 4 << 20
    options.limits.connectionWindowBytes = 4 << 20
    options.keptBodyBytes = maximumBytes + 1
    session = try HTTP2ClientSession(options: options)
  }

  deinit { sent.deallocate() }

  private func run(_ endpoint: Endpoint, _ trust: TLSClientContext, _ loop: EventLoop) async {
    let connection = Connection(
      to: endpoint, tls: trust, options: TransportOptions(), loop: loop, delegate: self)
    self.connection = connection
    let timer = loop.schedule(after: Self.timeout) { [weak self] in
      self?.end("no answer within \(DurationText.text(Self.timeout))")
    }
    connection.connect()
    if !isDone { await withCheckedContinuation { waiting = $0 } }
    timer.cancel()
    connection.close()
    session?.abandon()
    self.connection = nil
    session = nil
  }

  private func end(_ failure: String?) {
    guard !isDone else { return }
    isDone = true
    self.failure = failure
    waiting?.resume()
    waiting = nil
  }

  private func judge(_ ended: HTTP2Ended) {
    status = ended.status
    body = ended.content?.body ?? []
    if body.count > maximumBytes {
      end("more than \(maximumBytes) bytes")
    } else {
      end(ended.errorCode == 0 ? nil : "the stream ended with error \(ended.errorCode)")
    }
  }

  private func flush() throws {
    while let bytes = try session?.nextOutput() { connection?.write(bytes) }
  }
}

extension SimulatorRequest: ConnectionDelegate {
  package func connectionOpened(_ connection: Connection) {
    do {
      _ = try session?.submit(block, body: UnsafeRawBufferPointer(sent), slot: 0)
      try flush()
    } catch {
      end("\(error)")
    }
  }

  package func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    guard !isDone else { return }
    do {
      try session?.receive(bytes)
      try flush()
      if let ended = session?.nextEnded() { judge(ended) }
    } catch {
      end("\(error)")
    }
  }

  package func connectionDrained(_ connection: Connection) {}

  package func connectionClosed(_ connection: Connection, error: TransportError?) {
    end(error.map { "\($0)" } ?? "the connection was closed")
  }
}
