import CNghttp2

/// What the session keeps of one request. Lives in a table that never moves, reached by index
/// without exclusivity checks: this is the hot path.
struct ClientSlot {
  /// 0: free.
  var stream: Int32 = 0
  /// Of the head that is being read or was read last; 0 before.
  var status: Int32 = 0
  var headerListBytes: Int = 0
  var body: UnsafePointer<UInt8>?
  var bodyLeft: Int = 0
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

struct ClientState {
  var openStreams = 0
  var framesWithoutProgress = 0
  var bytesWithoutProgress = 0
  /// The slot that was looked up last.
  var lastSlot = 0
  /// Error code of a GOAWAY that nghttp2 sent on its own account.
  var goAwayErrorSent: UInt32 = 0
  var isDead = false
  var isTerminating = false
  var isFlooded = false
  var goAwayReceived = false
  var settingsReceived = false
  /// Since the owner asked last.
  var settingsChanged = false
  var pingAcknowledgements = 0
  /// Where in `ended` those begin that the owner has not heard of, and how many they are.
  var firstEnded = 0
  var endedCount = 0
}

/// What is remembered of a request that is over: nothing that counts references.
struct ClientEnd {
  let slot: Int32
  let status: Int32
  let errorCode: UInt32
}

/// Nine of the frame's head, four of its own.
private let windowUpdateBytes = 13

func setClientCallbacks(_ callbacks: OpaquePointer) {
  nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, onBeginFrame)
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, onBeginHeaders)
  nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onDataChunk)
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, onFrameSent)
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClose)
}

/// Copies the next piece of a borrowed request body into nghttp2's frame buffer.
let readClientBody: nghttp2_data_source_read_callback = {
  _, _, buffer, length, flags, source, userData in
  guard let buffer, let flags, let source, let userData else {
    return ssize_t(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
  }
  return withSession(userData) { session in
    let slot = Int(bitPattern: source.pointee.ptr) - 1
    guard slot >= 0 && slot < session.options.maximumSlots else {
      return ssize_t(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
    }
    let entry = session.slots + slot
    let count = min(entry.pointee.bodyLeft, length)
    if count > 0, let body = entry.pointee.body {
      buffer.update(from: body, count: count)
      entry.pointee.body = body + count
      entry.pointee.bodyLeft -= count
    }
    if entry.pointee.bodyLeft == 0 { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return count
  }
}

@inline(__always)
private func withSession<Result>(
  _ userData: UnsafeMutableRawPointer, _ body: (HTTP2ClientSession) -> Result
) -> Result {
  Unmanaged<HTTP2ClientSession>.fromOpaque(userData)._withUnsafeGuaranteedRef(body)
}

/// The slot of a stream, or nil for one that is not ours or was abandoned.
@inline(__always)
private func slotIndex(
  _ native: OpaquePointer?, _ stream: Int32, _ session: HTTP2ClientSession
) -> Int? {
  let state = session.state
  guard stream > 0, !state.pointee.isDead else { return nil }
  // The calls about one frame follow each other: mostly it is the stream of the call before.
  let last = state.pointee.lastSlot
  if session.slots[last].stream == stream { return last }
  let index = Int(bitPattern: nghttp2_session_get_stream_user_data(native, stream)) - 1
  guard index >= 0 && index < session.options.maximumSlots,
    session.slots[index].stream == stream
  else { return nil }
  state.pointee.lastSlot = index
  return index
}

private func onBeginFrame(
  _ native: OpaquePointer?, _ header: UnsafePointer<nghttp2_frame_hd>?,
  _ userData: UnsafeMutableRawPointer?
) -> Int32 {
  guard let userData, let header, isWorthCounting(header, largePiece: 1024) else { return 0 }
  withSession(userData) { $0.state.pointee.framesWithoutProgress += 1 }
  return 0
}

/// A PUSH_PROMISE names our stream too, but its fields are those of a request that nobody made.
@inline(__always)
private func isHeaders(_ frame: UnsafePointer<nghttp2_frame>) -> Bool {
  UInt32(frame.pointee.hd.type) == NGHTTP2_HEADERS.rawValue
}

private func onBeginHeaders(
  _ native: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ userData: UnsafeMutableRawPointer?
) -> Int32 {
  guard let frame, let userData, isHeaders(frame) else { return 0 }
  withSession(userData) { session in
    guard let slot = slotIndex(native, frame.pointee.hd.stream_id, session) else { return }
    session.slots[slot].headerListBytes = 0
    if !session.slots[slot].headIsComplete { session.slots[slot].status = 0 }
  }
  return 0
}

private func onHeader(
  _ native: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ name: UnsafePointer<UInt8>?, _ nameCount: Int,
  _ value: UnsafePointer<UInt8>?, _ valueCount: Int,
  _ flags: UInt8, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
  guard let frame, let name, let value, let userData, isHeaders(frame) else { return 0 }
  return withSession(userData) { session in
    guard let slot = slotIndex(native, frame.pointee.hd.stream_id, session) else { return 0 }
    let entry = session.slots + slot
    entry.pointee.headerListBytes += nameCount + valueCount + 32
    guard entry.pointee.headerListBytes <= session.options.maximumHeaderListBytes else {
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }
    guard !entry.pointee.headIsComplete, nameCount > 0 else { return 0 }
    if name[0] == UInt8(ascii: ":") {
      // A response has one pseudo-header field only; nghttp2 has refused any other.
      guard let status = parseStatus(value, valueCount) else {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
      }
      entry.pointee.status = status
    } else if entry.pointee.status >= 200, session.options.keptFields.keeps(name, nameCount) {
      session.keep(
        slot, field: UnsafeBufferPointer(start: name, count: nameCount),
        UnsafeBufferPointer(start: value, count: valueCount))
    }
    return 0
  }
}

private func onDataChunk(
  _ native: OpaquePointer?, _ flags: UInt8, _ stream: Int32,
  _ data: UnsafePointer<UInt8>?, _ count: Int, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
  guard let data, let userData else { return 0 }
  withSession(userData) { session in
    guard let slot = slotIndex(native, stream, session) else { return }
    session.state.pointee.bytesWithoutProgress -= count
    session.keep(slot, body: UnsafeBufferPointer(start: data, count: count))
  }
  return 0
}

private func onFrame(
  _ native: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ userData: UnsafeMutableRawPointer?
) -> Int32 {
  guard let frame, let userData else { return 0 }
  withSession(userData) { session in
    let header = frame.pointee.hd
    switch UInt32(header.type) {
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
      guard let slot = slotIndex(native, header.stream_id, session) else { return }
      let entry = session.slots + slot
      if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
        entry.pointee.endStreamSeen = true
      }
      if !entry.pointee.headIsComplete && entry.pointee.status >= 200 {
        entry.pointee.headIsComplete = true
      }
    default:
      onControlFrame(frame, session)
    }
  }
  return 0
}

private func onControlFrame(
  _ frame: UnsafePointer<nghttp2_frame>, _ session: HTTP2ClientSession
) {
  guard !session.state.pointee.isDead else { return }
  let isAcknowledgement = frame.pointee.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
  switch UInt32(frame.pointee.hd.type) {
  case NGHTTP2_SETTINGS.rawValue where !isAcknowledgement:
    session.state.pointee.settingsReceived = true
    session.state.pointee.settingsChanged = true
  case NGHTTP2_PING.rawValue where isAcknowledgement:
    session.state.pointee.pingAcknowledgements += 1
  case NGHTTP2_GOAWAY.rawValue:
    let goAway = frame.pointee.goaway
    session.state.pointee.goAwayReceived = true
    let debug = UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
    session.goAwayHeard = HTTP2GoAway(
      lastStreamID: goAway.last_stream_id, errorCode: goAway.error_code,
      debug: Array(debug.prefix(session.options.keptBodyBytes)))
  default:
    return
  }
}

private func onFrameSent(
  _ native: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ userData: UnsafeMutableRawPointer?
) -> Int32 {
  guard let frame, let userData else { return 0 }
  switch UInt32(frame.pointee.hd.type) {
  case NGHTTP2_DATA.rawValue:
    // Every byte of ours that left earns its two WINDOW_UPDATEs, of the stream and the connection:
    // so a server with a window of one byte, which is legal, never looks like a flood. What was not
    // counted against it earns nothing: nobody saves up for a flood.
    let answers = 2 * Int(frame.pointee.hd.length)
    withSession(userData) { session in
      let counted = session.state.pointee.framesWithoutProgress
      session.state.pointee.framesWithoutProgress = max(0, counted - answers)
      let bytes = session.state.pointee.bytesWithoutProgress
      session.state.pointee.bytesWithoutProgress = max(0, bytes - answers * windowUpdateBytes)
    }
  case NGHTTP2_GOAWAY.rawValue:
    withSession(userData) { $0.state.pointee.goAwayErrorSent = frame.pointee.goaway.error_code }
  default: break
  }
  return 0
}

private func onStreamClose(
  _ native: OpaquePointer?, _ stream: Int32, _ errorCode: UInt32,
  _ userData: UnsafeMutableRawPointer?
) -> Int32 {
  guard let userData else { return 0 }
  withSession(userData) { session in
    guard let slot = slotIndex(native, stream, session) else { return }
    let entry = session.slots + slot
    let state = session.state
    // A peer may reset with NO_ERROR before the end; that is not an answer read to its end.
    let isCut = errorCode == HTTP2ErrorCode.noError && !entry.pointee.endStreamSeen
    // No slot is here twice, for it is free again only when its owner has heard of its end.
    var place = state.pointee.firstEnded + state.pointee.endedCount
    if place >= session.capacity { place -= session.capacity }
    session.ended[place] = ClientEnd(
      slot: Int32(truncatingIfNeeded: slot),
      status: entry.pointee.headIsComplete ? entry.pointee.status : 0,
      errorCode: isCut ? HTTP2ErrorCode.internalError : errorCode)
    state.pointee.endedCount += 1
    entry.pointee.hasEnded = true
    entry.pointee.stream = 0
    entry.pointee.body = nil
    state.pointee.openStreams -= 1
    state.pointee.framesWithoutProgress = 0
    state.pointee.bytesWithoutProgress = 0
  }
  return 0
}
