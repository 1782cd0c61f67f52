import CNghttp2

/// The client's half of an HTTP/2 connection. Requests live in numbered slots that the owner
/// chooses; the owner keeps what belongs to a request under the same number. `nextEnded`,
/// `takeGoAway` and `takeSettingsChange` return received data.
///
/// After `receive` or `nextOutput` has thrown, or after `abandon()`, nothing more is heard and
/// every slot that was open stays without an end: the owner re-queues them by its own table and
/// closes the connection.
package final class HTTP2ClientSession: HTTP2Session {
  private let options: HTTP2ClientOptions
  private let slots: UnsafeMutablePointer<ClientSlot>
  private let capacity: Int
  private let heard: UnsafeMutablePointer<ClientState>
  /// A ring with room for all slots, since none is here twice.
  private let ended: UnsafeMutablePointer<ClientEnd>
  /// By slot, of responses that said more than their status.
  private var contents: [Int: HTTP2Content] = [:]
  private var goAwayHeard: HTTP2GoAway?

  package init(options: HTTP2ClientOptions) throws(HTTP2Error) {
    self.options = options
    capacity = max(options.maximumSlots, 1)
    ended = .allocate(capacity: capacity)
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: ClientSlot(), count: capacity)
    heard = .allocate(capacity: 1)
    heard.initialize(to: ClientState())
    try super.init(
      .client(assumedMaximumStreams: options.assumedMaximumStreams), limits: options.limits,
      settings: [setting(NGHTTP2_SETTINGS_ENABLE_PUSH, 0)])
  }

  deinit {
    slots.deallocate()
    ended.deallocate()
    heard.deallocate()
  }

  // MARK: Requests

  /// Starts a request. Its HEADERS and DATA come out of `nextOutput()`.
  /// - Parameters:
  ///   - block: copied as far as its own flags ask for; it may be changed and used again at once.
  ///   - body: borrowed until the stream has closed, or the session is gone.
  ///   - slot: 0..<maximumSlots, free.
  /// - Returns: the stream identifier.
  package func submit(
    _ block: HTTP2FieldBlock, body: UnsafeRawBufferPointer, slot: Int
  ) throws(HTTP2Error) -> Int32 {
    guard slot >= 0 && slot < options.maximumSlots, slots[slot].stream == 0,
      !slots[slot].hasEnded
    else { throw HTTP2Error(.slotUnavailable, "request slot \(slot) is in use or does not exist") }
    try checkAlive()
    guard !heard.pointee.goAwayReceived else {
      throw HTTP2Error(.goingAway, "the server takes no new requests on this connection")
    }
    let userData = slotPointer(slot)
    let stream: Int32
    if body.isEmpty {
      stream = nghttp2_submit_request(native, nil, block.native, block.count, nil, userData)
    } else {
      var provider = bodyProvider(slot: slot)
      stream = nghttp2_submit_request(native, nil, block.native, block.count, &provider, userData)
    }
    guard stream > 0 else { throw HTTP2Error.library(stream, while: "submitting a request") }
    slots[slot] = ClientSlot(stream: stream, body: body)
    state.pointee.openStreams += 1
    return stream
  }

  /// Ends a stream early: it has ended, with this error code, when `nextOutput()` has said so to
  /// the server. That may be never, when the output is not taken, or when the stream has not begun
  /// and the server allows no other: who waits for the end waits for a while only.
  package func reset(stream: Int32, errorCode: UInt32) {
    guard !state.pointee.isDead else { return }
    // Fails for want of memory and for stream 0 only.
    _ = nghttp2_submit_rst_stream(native, flagNone, stream, errorCode)
  }

  /// Tells the server that no request will follow. Open ones go on to their end.
  package func goAway() {
    guard !state.pointee.isDead else { return }
    _ = nghttp2_submit_goaway(native, flagNone, 0, HTTP2ErrorCode.noError, nil, 0)
  }

  // MARK: received data

  /// A request that is over, in the order of their ends; its slot is free then. nil: no other is.
  package func nextEnded() -> HTTP2Ended? {
    guard heard.pointee.endedCount > 0 else { return nil }
    let first = heard.pointee.firstEnded
    heard.pointee.firstEnded = first + 1 == capacity ? 0 : first + 1
    heard.pointee.endedCount -= 1
    let end = ended[first]
    let slot = Int(end.slot)
    let hasContent = slots[slot].hasContent
    slots[slot] = ClientSlot()
    return HTTP2Ended(
      slot: slot, status: Int(end.status), errorCode: end.errorCode, wasSent: end.wasSent,
      wasWhole: end.wasWhole,
      content: hasContent ? contents.removeValue(forKey: slot) : nil)
  }

  /// Requests are over that `nextEnded` has not said yet.
  package var hasEnded: Bool { heard.pointee.endedCount > 0 }

  /// Of the final response head of a request that is open; 0 until it has come. 1xx heads are
  /// swallowed.
  package func status(of slot: Int) -> Int {
    guard slot >= 0 && slot < options.maximumSlots, slots[slot].headIsComplete else { return 0 }
    return Int(slots[slot].status)
  }

  /// All of a request that is open has come out of `nextOutput()`: no server can have taken one of
  /// which it has seen a part.
  package func hasLeft(slot: Int) -> Bool {
    let stream = stream(at: slot)
    return stream != 0 && slots[slot].bodyLeft == 0
      && nghttp2_session_get_stream_remote_window_size(native, stream) >= 0
  }

  /// The server's last GOAWAY; nil when there was none since the last call.
  package func takeGoAway() -> HTTP2GoAway? {
    guard heard.pointee.goAwayReceived else { return nil }
    defer { goAwayHeard = nil }
    return goAwayHeard
  }

  /// Whether the server's SETTINGS came since this was asked: read `remoteMaxConcurrentStreams`
  /// again.
  package func takeSettingsChange() -> Bool {
    defer { heard.pointee.settingsChanged = false }
    return heard.pointee.settingsChanged
  }

  /// How many PINGs the server has answered.
  package var pingAcknowledgements: Int { heard.pointee.pingAcknowledgements }

  private func content(_ slot: Int) -> HTTP2Content {
    if let content = contents[slot] { return content }
    let content = HTTP2Content()
    contents[slot] = content
    slots[slot].hasContent = true
    return content
  }

  // MARK: the peer's limits

  /// `options.assumedMaximumStreams` until the server's SETTINGS have arrived.
  package var remoteMaxConcurrentStreams: Int {
    Int(nghttp2_session_get_remote_settings(native, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
  }

  /// Body bytes that the server takes now, for all streams together.
  package var remoteConnectionWindow: Int {
    Int(nghttp2_session_get_remote_window_size(native))
  }

  package var settingsReceived: Bool { heard.pointee.settingsReceived }

  // MARK: nghttp2's calls

  override func stream(at slot: Int) -> Int32 {
    slot >= 0 && slot < capacity ? slots[slot].stream : 0
  }

  override func headersBegan(_ slot: Int) {
    slots[slot].headerListBytes = 0
    if !slots[slot].headIsComplete { slots[slot].status = 0 }
  }

  override func field(
    _ slot: Int, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    let entry = slots + slot
    guard limits.takes(name, value, &entry.pointee.headerListBytes) else { return false }
    guard !entry.pointee.headIsComplete, !name.isEmpty else { return true }
    if name[0] == UInt8(ascii: ":") {
      // A response has one pseudo-header field only; nghttp2 has refused any other.
      guard let status = Self.status(value) else { return false }
      entry.pointee.status = status
    } else if entry.pointee.status >= 200, options.keptFields.keeps(name) {
      content(slot).fields.append((Array(name), Array(value)))
    }
    return true
  }

  override func body(_ slot: Int, _ bytes: UnsafeBufferPointer<UInt8>) {
    guard !bytes.isEmpty, options.keepsBodyOfSuccess || slots[slot].status != 200 else { return }
    let content = content(slot)
    let room = options.keptBodyBytes - content.body.count
    if room > 0 { content.body.append(contentsOf: bytes.prefix(room)) }
  }

  override func frameEnded(_ slot: Int, isHeaders: Bool, endsStream: Bool) {
    if endsStream { slots[slot].endStreamSeen = true }
    if slots[slot].status >= 200 { slots[slot].headIsComplete = true }
  }

  override func controlFrame(_ frame: UnsafePointer<nghttp2_frame>) {
    let isAcknowledgement = frame.pointee.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
    switch UInt32(frame.pointee.hd.type) {
    case NGHTTP2_SETTINGS.rawValue where !isAcknowledgement:
      heard.pointee.settingsReceived = true
      heard.pointee.settingsChanged = true
    case NGHTTP2_PING.rawValue where isAcknowledgement:
      heard.pointee.pingAcknowledgements += 1
    case NGHTTP2_GOAWAY.rawValue:
      let goAway = frame.pointee.goaway
      heard.pointee.goAwayReceived = true
      let debug = UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
      goAwayHeard = HTTP2GoAway(
        lastStreamID: goAway.last_stream_id, errorCode: goAway.error_code,
        debug: Array(debug.prefix(options.keptBodyBytes)))
    default: return
    }
  }

  /// Every byte of ours that left earns its two WINDOW_UPDATEs, of the stream and the connection:
  /// so a server with a window of one byte, which is legal, never looks like a flood. A frame that
  /// was not counted against it earns nothing: nobody saves up for a flood.
  override func dataSent(_ count: Int) {
    let answers = 2 * count
    let frames = state.pointee.framesWithoutProgress
    state.pointee.framesWithoutProgress = max(0, frames - answers)
    let bytes = state.pointee.bytesWithoutProgress
    state.pointee.bytesWithoutProgress = max(0, bytes - answers * Self.windowUpdateBytes)
  }

  override func withheld(_ slot: Int) { slots[slot].wasWithheld = true }

  override func closed(_ slot: Int, errorCode: UInt32) {
    let entry = slots + slot
    // A peer may reset with NO_ERROR before the end; that is not an answer read to its end.
    let isCut = errorCode == HTTP2ErrorCode.noError && !entry.pointee.endStreamSeen
    // No slot is here twice, for it is free again only when its owner has heard of its end.
    var place = heard.pointee.firstEnded + heard.pointee.endedCount
    if place >= capacity { place -= capacity }
    ended[place] = ClientEnd(
      slot: Int32(truncatingIfNeeded: slot),
      status: entry.pointee.headIsComplete ? entry.pointee.status : 0,
      errorCode: isCut ? HTTP2ErrorCode.internalError : errorCode,
      wasSent: !entry.pointee.wasWithheld, wasWhole: entry.pointee.bodyLeft == 0)
    heard.pointee.endedCount += 1
    entry.pointee.hasEnded = true
    entry.pointee.stream = 0
    entry.pointee.body = nil
    state.pointee.framesWithoutProgress = 0
    state.pointee.bytesWithoutProgress = 0
  }

  /// The next piece of a borrowed request body.
  override func nextPiece(
    _ slot: Int, into buffer: UnsafeMutableBufferPointer<UInt8>
  ) -> (count: Int, isFinal: Bool) {
    let entry = slots + slot
    let count = min(entry.pointee.bodyLeft, buffer.count)
    if count > 0, let body = entry.pointee.body {
      buffer.baseAddress?.update(from: body, count: count)
      entry.pointee.body = body + count
      entry.pointee.bodyLeft -= count
    }
    return (count, entry.pointee.bodyLeft == 0)
  }

  /// Nine of the frame's head, four of its own.
  private static let windowUpdateBytes = 13

  /// Three digits, or nil.
  private static func status(_ digits: UnsafeBufferPointer<UInt8>) -> Int32? {
    guard digits.count == 3 else { return nil }
    var status: Int32 = 0
    for byte in digits {
      let digit = Int32(byte) - 0x30
      guard digit >= 0 && digit <= 9 else { return nil }
      status = status * 10 + digit
    }
    return status
  }
}

/// The server takes no new streams.
package struct HTTP2GoAway {
  /// Streams above it are closed with REFUSED_STREAM.
  package let lastStreamID: Int32
  package let errorCode: UInt32
  package let debug: [UInt8]
}

/// The end of a request, as it is remembered: nothing that counts references.
struct ClientEnd {
  let slot: Int32
  let status: Int32
  let errorCode: UInt32
  let wasSent: Bool
  let wasWhole: Bool
}

/// News that a client's session has heard and its owner has not asked for yet.
struct ClientState {
  var goAwayReceived = false
  var settingsReceived = false
  /// Since the owner asked last.
  var settingsChanged = false
  var pingAcknowledgements = 0
  /// Where in `ended` those begin that the owner has not heard of, and how many they are.
  var firstEnded = 0
  var endedCount = 0
}

/// A request that is over.
package struct HTTP2Ended {
  package let slot: Int
  /// Of the final response head; 0 when none came.
  package let status: Int
  /// 0: the response was read to its end. Anything else is an error code of RFC 9113, section 7;
  /// the response may nevertheless have been complete before it.
  package let errorCode: UInt32
  /// False: nothing of it left, so that no server has seen it.
  package let wasSent: Bool
  /// False: its body did not leave to the end, so that no server can have taken it.
  package let wasWhole: Bool
  /// The kept parts of the response besides its status; nil when there are none.
  package let content: HTTP2Content?
}

/// The session's state of one request. Lives in a table that never moves, reached by index without
/// exclusivity checks: this is the hot path.
struct ClientSlot {
  /// 0: free.
  var stream: Int32 = 0
  /// Of the head that is being read or was read last; 0 before.
  var status: Int32 = 0
  var headerListBytes: Int = 0
  var body: UnsafePointer<UInt8>?
  var bodyLeft: Int = 0
  /// It is over and never left: nghttp2 did not send its HEADERS.
  var wasWithheld = false
  /// The final head has come; fields that follow are trailers.
  var headIsComplete = false
  var endStreamSeen = false
  /// It is over, and its owner has not heard so yet.
  var hasEnded = false
  /// The response said more than its status.
  var hasContent = false

  init() {}

  init(stream: Int32, body: UnsafeRawBufferPointer) {
    self.stream = stream
    self.body = body.baseAddress?.assumingMemoryBound(to: UInt8.self)
    bodyLeft = body.count
  }
}

package struct HTTP2ClientOptions: Sendable {
  /// Requests that can be open at once; a slot costs 48 bytes. APNs has been seen to allow 1,500.
  package var maximumSlots = 2048
  /// Streams that we assume the peer allows before its SETTINGS have arrived. APNs starts at one.
  package var assumedMaximumStreams = 1
  package var limits = HTTP2Limits()

  /// Bytes of a response's body that are kept, and of what a GOAWAY says; the rest is dropped.
  package var keptBodyBytes = 4096
  /// The fields of a response that are kept.
  package var keptFields = KeptFields.none
  /// A body that comes with status 200 is kept as well. A sender of many requests whose server
  /// names each message saves a twentieth of its time without.
  package var keepsBodyOfSuccess = true

  package enum KeptFields: Sendable {
    case none, all
    /// One, or either of two, in lower case, as HTTP/2 has them.
    case named([UInt8], or: [UInt8] = [])

    @inline(__always)
    func keeps(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
      switch self {
      case .none: return false
      case .all: return true
      // By its length first: every response has fields, and there are many of them.
      case .named(let one, let other):
        return one.count == name.count && one.elementsEqual(name)
          || other.count == name.count && other.elementsEqual(name)
      }
    }
  }

  package init() {
    // Windows of one byte cost nothing here, and the longest heads of all slots stay below it.
    limits.maximumBytesWithoutProgress = 32 << 20
  }
}

/// The fields and the body of a response, as far as `HTTP2ClientOptions` keeps them.
package final class HTTP2Content {
  /// Of the final head; neither pseudo-header fields nor trailers.
  package internal(set) var fields: [(name: [UInt8], value: [UInt8])] = []
  package internal(set) var body: [UInt8] = []

  /// Of the last field of that name.
  package func value(of name: [UInt8]) -> [UInt8]? { fields.last { $0.name == name }?.value }
}
