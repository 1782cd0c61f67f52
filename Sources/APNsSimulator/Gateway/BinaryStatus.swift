/// The status codes that the legacy gateway says (Apple, "Binary Provider API", "Codes in
/// error-response packet"). The simulator keeps its own table and takes nothing from the rooms that
/// it is there to check.
enum BinaryStatus: UInt8 {
  case processingError = 1
  case missingToken = 2
  case missingPayload = 4
  case invalidTokenSize = 5
  case invalidPayloadSize = 7
  case invalidToken = 8
  case shutdown = 10
  case protocolError = 128
  case unknown = 255
}
