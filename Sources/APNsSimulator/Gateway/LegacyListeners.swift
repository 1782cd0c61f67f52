import TLS
import Transport

/// Where the legacy gateway and its feedback service listen, when somebody has asked for them:
/// plain TLS with the simulator's certificate.
struct LegacyListeners {
  private(set) var gateway: Listener?
  private(set) var feedback: Listener?

  var all: [Listener] { [gateway, feedback].compactMap(\.self) }

  init(
    _ options: APNsSimulatorOptions, _ files: SimulatorFiles, _ service: SimulatorService
  ) throws {
    guard options.binaryPort != nil || options.feedbackPort != nil else { return }
    let tls = try TLSServerContext(
      certificateFile: files.certificate, keyFile: files.certificateKey, alpn: [])
    gateway = try options.binaryPort.map { port in
      try Listener(host: options.host, port: port, tls: tls, loop: service.loop) {
        guard service.acceptsBinaryConnections else { return nil }
        let made = SimulatedGateway(service, $0)
        service.add(made)
        return made
      }
    }
    feedback = try options.feedbackPort.map { port in
      try Listener(host: options.host, port: port, tls: tls, loop: service.loop) {
        guard service.acceptsBinaryConnections else { return nil }
        let made = SimulatedFeedback(service, $0)
        service.add(made)
        return made
      }
    }
  }
}

/// One client's connection to the legacy feedback service: tells every token that is gone, forgets
/// them, and closes.
final class SimulatedFeedback {
  private let service: SimulatorService
  private let transport: Connection

  init(_ service: SimulatorService, _ transport: Connection) {
    self.service = service
    self.transport = transport
  }

  func close() {
    transport.close()
    service.removeBinary(self)
  }
}

extension SimulatedFeedback: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) {
    let tuples = service.binary.takeFeedback()
    guard !tuples.isEmpty else { return close() }
    tuples.withUnsafeBytes { connection.write($0) }
  }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {}
  func connectionDrained(_ connection: Connection) { close() }
  func connectionClosed(_ connection: Connection, error: TransportError?) {
    service.removeBinary(self)
  }
}
