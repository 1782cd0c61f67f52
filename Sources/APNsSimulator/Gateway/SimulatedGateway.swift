import Transport

/// One client's connection to the legacy gateway: command 0, 1 and 2 in, one error response out at
/// most, and then the end (Apple, "Binary Provider API"). Confined to the loop; the service keeps
/// it until it has closed.
final class SimulatedGateway {
  private let service: SimulatorService
  private let transport: Connection
  private var bytes: [UInt8] = []
  private var record = RequestRecord()
  private var count = 0
  private var lastTaken: UInt32 = 0
  /// It has said its only word, or is about to close: nothing is looked at any more.
  private var isOver = false

  init(_ service: SimulatorService, _ transport: Connection) {
    self.service = service
    self.transport = transport
  }

  deinit { record.deallocate() }

  func close() {
    transport.close()
    service.removeBinary(self)
  }

  private func readAll(arrival: Int64) {
    var place = 0
    while !isOver {
      switch BinaryFrame.read(bytes[place...]) {
      case .incomplete:
        bytes.removeFirst(place)
        return
      case .wrong(let status, let identifier): refuse(status, identifier)
      case .frame(let frame, let size):
        place += size
        take(frame, arrival: arrival)
      }
    }
    bytes = []
  }

  private func take(_ frame: BinaryFrame, arrival: Int64) {
    count += 1
    if let limit = service.script.dropAfter, count >= limit { return drop() }
    let isSilent = service.script.silentAfter.map { count >= $0 } ?? false
    record.begin(stream: 0)
    fill(frame)
    switch service.decideBinary(record, frame.token, isSilent: isSilent, arrival: arrival) {
    case .taken: lastTaken = frame.identifier
    case .unknown: return
    case .shutdown: refuse(.shutdown, lastTaken)
    case .refused(let status): refuse(status, frame.identifier)
    case .drop: drop()
    }
  }

  private func fill(_ frame: BinaryFrame) {
    let limit = RequestRecord.maximumTokenDigits / 2
    for byte in frame.token.prefix(limit) {
      record.token[record.tokenCount] = (byte >> 4).lastHexDigit
      record.token[record.tokenCount + 1] = byte.lastHexDigit
      record.tokenCount += 2
    }
    frame.payload.withUnsafeBytes { record.append($0) }
  }

  private func refuse(_ status: BinaryStatus, _ identifier: UInt32) {
    isOver = true
    let number = (0..<4).map { UInt8(truncatingIfNeeded: identifier >> (24 - 8 * $0)) }
    ([8, status.rawValue] + number).withUnsafeBytes { transport.write($0) }
  }

  private func drop() {
    isOver = true
    close()
  }
}

extension SimulatedGateway: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) {}

  func connection(_ connection: Connection, received more: UnsafeRawBufferPointer) {
    guard !isOver else { return }
    bytes += more
    readAll(arrival: service.options.clock())
  }

  func connectionDrained(_ connection: Connection) { if isOver { close() } }

  func connectionClosed(_ connection: Connection, error: TransportError?) {
    service.removeBinary(self)
  }
}
