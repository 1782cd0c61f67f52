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
