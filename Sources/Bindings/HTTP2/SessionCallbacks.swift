import CNghttp2

// The functions that nghttp2 calls, for both halves: check for nil, find the session and the slot,
// call one method.

func setCallbacks(_ callbacks: OpaquePointer) {
  nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, onBeginFrame)
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, onBeginHeaders)
  nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onDataChunk)
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClose)
}

/// A body that `submit` or `respond` was given, in the slot that `source` names.
func bodyProvider(slot: Int) -> nghttp2_data_provider {
  var provider = nghttp2_data_provider()
  provider.source.ptr = slotPointer(slot)
  provider.read_callback = readBody
  return provider
}

/// nghttp2 keeps it for us; nil is no slot.
func slotPointer(_ slot: Int) -> UnsafeMutableRawPointer? {
  UnsafeMutableRawPointer(bitPattern: slot + 1)
}

@inline(__always)
private func withSession<Result>(
  _ userData: UnsafeMutableRawPointer, _ body: (HTTP2Session) -> Result
) -> Result {
  Unmanaged<HTTP2Session>.fromOpaque(userData)._withUnsafeGuaranteedRef(body)
}

/// The slot of a stream, or nil for one that is not ours or was abandoned.
@inline(__always)
private func slotIndex(_ native: OpaquePointer?, _ stream: Int32, _ session: HTTP2Session) -> Int? {
  let state = session.state
  guard stream > 0, !state.pointee.isDead else { return nil }
  // The calls about one frame follow each other: mostly it is the stream of the call before.
  let last = state.pointee.lastSlot
  if session.stream(at: last) == stream { return last }
  let index = Int(bitPattern: nghttp2_session_get_stream_user_data(native, stream)) - 1
  guard index >= 0, session.stream(at: index) == stream else { return nil }
  state.pointee.lastSlot = index
  return index
}

/// A PUSH_PROMISE names our stream too, but its fields are those of a request that nobody made.
@inline(__always)
private func isHeaders(_ frame: UnsafePointer<nghttp2_frame>) -> Bool {
  UInt32(frame.pointee.hd.type) == NGHTTP2_HEADERS.rawValue
}

private let readBody: nghttp2_data_source_read_callback = {
  _, _, buffer, length, flags, source, userData in
  guard let buffer, let flags, let source, let userData else {
    return ssize_t(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
  }
  return withSession(userData) { session in
    let slot = Int(bitPattern: source.pointee.ptr) - 1
    guard session.stream(at: slot) != 0 else {
      return ssize_t(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
    }
    let (count, isFinal) = session.nextPiece(
      slot, into: UnsafeMutableBufferPointer(start: buffer, count: length))
    if isFinal { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    guard count > 0 || isFinal else {
      return ssize_t(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
    return count
  }
}

private func onBeginFrame(
  _ native: OpaquePointer?, _ header: UnsafePointer<nghttp2_frame_hd>?,
  _ userData: UnsafeMutableRawPointer?
) -> Int32 {
  guard let userData, let header else { return 0 }
  withSession(userData) { session in
    // Large pieces of a body are no flood: the owner says how much body it takes.
    guard
      UInt32(header.pointee.type) != NGHTTP2_DATA.rawValue
        || header.pointee.length < session.state.pointee.largePiece
    else { return }
    session.state.pointee.framesWithoutProgress += 1
  }
  return 0
}

private func onBeginHeaders(
  _ native: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ userData: UnsafeMutableRawPointer?
) -> Int32 {
  guard let frame, let userData, isHeaders(frame) else { return 0 }
  withSession(userData) { session in
    let stream = frame.pointee.hd.stream_id
    if frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST {
      guard !session.state.pointee.isDead else { return }
      let slot = session.requestBegan(stream)
      session.state.pointee.openStreams += 1
      session.state.pointee.lastSlot = slot
      nghttp2_session_set_stream_user_data(native, stream, slotPointer(slot))
    } else if let slot = slotIndex(native, stream, session) {
      session.headersBegan(slot)
    }
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
    let isTaken = session.field(
      slot, UnsafeBufferPointer(start: name, count: nameCount),
      UnsafeBufferPointer(start: value, count: valueCount))
    return isTaken ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
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
    session.body(slot, UnsafeBufferPointer(start: data, count: count))
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
    guard isHeaders(frame) || UInt32(header.type) == NGHTTP2_DATA.rawValue else {
      if !session.state.pointee.isDead { session.controlFrame(frame) }
      return
    }
    guard let slot = slotIndex(native, header.stream_id, session) else { return }
    session.frameEnded(
      slot, isHeaders: isHeaders(frame),
      endsStream: header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0)
  }
  return 0
}

/// Set for clients only.
func onFrameSent(
  _ native: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ userData: UnsafeMutableRawPointer?
) -> Int32 {
  guard let frame, let userData else { return 0 }
  switch UInt32(frame.pointee.hd.type) {
  case NGHTTP2_DATA.rawValue:
    withSession(userData) { $0.dataSent(Int(frame.pointee.hd.length)) }
  case NGHTTP2_GOAWAY.rawValue:
    withSession(userData) { $0.state.pointee.goAwayErrorSent = frame.pointee.goaway.error_code }
  default: break
  }
  return 0
}

/// Set for clients only. The limit of streams, our own reset or a GOAWAY came first.
func onFrameNotSent(
  _ native: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ reason: Int32,
  _ userData: UnsafeMutableRawPointer?
) -> Int32 {
  guard let frame, let userData, isHeaders(frame) else { return 0 }
  withSession(userData) { session in
    if let slot = slotIndex(native, frame.pointee.hd.stream_id, session) { session.withheld(slot) }
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
    session.state.pointee.openStreams -= 1
    session.closed(slot, errorCode: errorCode)
  }
  return 0
}
