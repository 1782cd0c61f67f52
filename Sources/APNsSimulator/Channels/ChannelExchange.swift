import HTTP2

/// A request about broadcast channels, or a broadcast, as it comes in. `ChannelRules` decides the
/// answer.
final class ChannelExchange: SideRequest {
  /// Of one request. Those of Apple's have fewer.
  private static let maximumFields = 32

  private var request: ChannelRequest

  /// Whether a path leads to channels.
  static func isPath(_ path: UnsafeRawBufferPointer) -> Bool {
    path.hasPrefix("/1/apps/") || path.hasPrefix("/4/broadcasts/")
  }

  init(path: String) { request = ChannelRequest(path: path) }

  func take(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ service: SimulatorService
  ) {
    guard name.hasPrefix("apns-"), request.fields.count < Self.maximumFields else { return }
    request.fields[String(decoding: name, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
  }

  /// Keeps one byte more than there can be of a valid body.
  func append(_ bytes: UnsafeRawBufferPointer, _ service: SimulatorService) {
    let room = ChannelRules.maximumPayloadBytes + 1 - request.body.count
    request.body.append(contentsOf: bytes.prefix(max(room, 0)))
  }

  func forget(_ service: SimulatorService) {}

  func answer(
    _ service: SimulatorService, _ session: HTTP2ServerSession, slot: Int, _ record: RequestRecord,
    _ proof: ClientProof?
  ) {
    request.method =
      record.isPost ? "POST" : record.isGet ? "GET" : record.isDelete ? "DELETE" : ""
    let fault = RequestFault.allCases.lazy.filter { record.faults & $0.bit != 0 }
      .compactMap { BroadcastReason(credentials: $0) }.first
    let answer = service.answer(request, credentialFault: fault, proof)
    let fields = answer.fields.map { ($0.name, $0.value, HTTP2Indexing.never) }
    let head = try? HTTP2FieldBlock(
      [(":status", String(answer.status), .indexed)] + fields, values: .copied)
    guard let head else {
      return session.reset(slot: slot, errorCode: HTTP2ErrorCode.internalError)
    }
    _ = Array(answer.body.utf8).withUnsafeBytes { session.respond(slot: slot, head, body: $0) }
  }
}

/// A request for a broadcast channel or to one, whole.
struct ChannelRequest: Equatable {
  var method = ""
  var path = ""
  /// By name; a field that came twice has its last value.
  var fields: [String: String] = [:]
  var body: [UInt8] = []
}
