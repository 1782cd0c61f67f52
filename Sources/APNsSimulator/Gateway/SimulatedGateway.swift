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

/// One notification of command 0, 1 or 2.
struct BinaryFrame: Equatable {
  enum Reading: Equatable {
    case incomplete
    /// The identifier is 0 where there is none to tell.
    case wrong(BinaryStatus, UInt32)
    case frame(BinaryFrame, size: Int)
  }

  static let oldestPayloadLimit = 256
  static let payloadLimit = 2048
  private static let tokenLimit = 100
  private static let frameLimit = 4096

  var identifier: UInt32 = 0
  var token: [UInt8] = []
  var payload: [UInt8] = []

  static func read(_ bytes: ArraySlice<UInt8>) -> Reading {
    guard let command = bytes.first else { return .incomplete }
    let rest = bytes.dropFirst()
    return switch command {
    case 0: readBodies(rest, identifier: 0, head: 1)
    case 1:
      rest.count < 8
        ? .incomplete : readBodies(rest.dropFirst(8), identifier: number(rest.prefix(4)), head: 9)
    case 2: readItems(rest)
    default: .wrong(.protocolError, 0)
    }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }

  private static func readBodies(
    _ bytes: ArraySlice<UInt8>, identifier: UInt32, head: Int
  ) -> Reading {
    var frame = BinaryFrame(identifier: identifier)
    guard bytes.count >= 2 else { return .incomplete }
    let tokenLength = Int(number(bytes.prefix(2)))
    guard tokenLength > 0 else { return .wrong(.missingToken, identifier) }
    guard tokenLength <= tokenLimit else { return .wrong(.invalidTokenSize, identifier) }
    let behind = bytes.dropFirst(2 + tokenLength)
    guard behind.count >= 2 else { return .incomplete }
    frame.token = Array(bytes.dropFirst(2).prefix(tokenLength))
    let length = Int(number(behind.prefix(2)))
    guard length > 0 else { return .wrong(.missingPayload, identifier) }
    guard length <= oldestPayloadLimit else { return .wrong(.invalidPayloadSize, identifier) }
    guard behind.count >= 2 + length else { return .incomplete }
    frame.payload = Array(behind.dropFirst(2).prefix(length))
    return .frame(frame, size: head + 2 + tokenLength + 2 + length)
  }

  private static func readItems(_ bytes: ArraySlice<UInt8>) -> Reading {
    guard bytes.count >= 4 else { return .incomplete }
    let length = Int(number(bytes.prefix(4)))
    guard length <= frameLimit else { return .wrong(.protocolError, 0) }
    var items = bytes.dropFirst(4).prefix(length)
    guard items.count == length else { return .incomplete }
    var frame = BinaryFrame()
    var isWhole = true
    while !items.isEmpty, isWhole {
      let count = items.count < 3 ? Int.max : Int(number(items.dropFirst().prefix(2)))
      let kind = items[items.startIndex]
      let body = items.dropFirst(3).prefix(count)
      isWhole = body.count == count
      items = items.dropFirst(3).dropFirst(count)
      switch kind {
      case 1: frame.token = Array(body)
      case 2: frame.payload = Array(body)
      case 3 where count == 4: frame.identifier = number(body)
      case 4 where count == 4: break
      case 5 where count == 1 && (body.first == 5 || body.first == 10): break
      default: isWhole = false
      }
    }
    guard isWhole else { return .wrong(.protocolError, frame.identifier) }
    if let status = frame.fault { return .wrong(status, frame.identifier) }
    return .frame(frame, size: 5 + length)
  }

  private var fault: BinaryStatus? {
    if token.isEmpty { return .missingToken }
    if token.count > Self.tokenLimit { return .invalidTokenSize }
    if payload.isEmpty { return .missingPayload }
    return payload.count > Self.payloadLimit ? .invalidPayloadSize : nil
  }
}
