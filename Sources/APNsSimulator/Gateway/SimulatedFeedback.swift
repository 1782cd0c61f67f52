import Transport

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
