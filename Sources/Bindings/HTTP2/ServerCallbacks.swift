import CNghttp2

struct ServerSlot {
  /// 0: free, and `next` is the next free slot.
  var stream: Int32 = 0
  var next = -1
  var headerListBytes = 0
  /// Owned; freed when the slot is.
  var body: UnsafeMutablePointer<UInt8>?
  var bodyCount = 0
  var bodyOffset = 0
  var isAnswered = false
  var hasSource = false
  var headIsComplete = false
}

struct ServerState {
  private(set) var slots: UnsafeMutablePointer<ServerSlot>
  private(set) var capacity: Int
  private var firstFree: Int
  private(set) var openStreams = 0
  var framesWithoutProgress = 0
  /// The slot that was looked up last.
  var lastSlot = 0
  var isDead = false
  var isTerminating = false
  /// Inside of nghttp2_session_mem_recv.
  var isReceiving = false
  /// A DATA frame of so many bytes is no small one: 1 KiB, or all that our window lets a client
  /// send at once.
  private(set) var largePiece: Int

  init(_ options: HTTP2ServerOptions) {
    largePiece = 0
    capacity = 0
    slots = .allocate(capacity: 1)
    firstFree = -1
    setStreamWindow(min(options.streamWindowBytes, options.connectionWindowBytes))
  }

  mutating func setStreamWindow(_ bytes: Int) { largePiece = min(max(bytes, 1), 1024) }

  /// A slot for a new stream. The table grows to the most streams that were ever open, which is
  /// what the session allowed.
  mutating func take(stream: Int32) -> Int {
    if firstFree < 0 { grow() }
    let slot = firstFree
    firstFree = slots[slot].next
    slots[slot] = ServerSlot()
    slots[slot].stream = stream
    openStreams += 1
    return slot
  }

  mutating func free(_ slot: Int) {
    slots[slot].body?.deallocate()
    slots[slot] = ServerSlot()
    slots[slot].next = firstFree
    firstFree = slot
    openStreams -= 1
  }

  func deallocateSlots() {
    for slot in 0..<capacity { slots[slot].body?.deallocate() }
    slots.deallocate()
  }

  private mutating func grow() {
    let larger = max(capacity * 2, 64)
    let grown = UnsafeMutablePointer<ServerSlot>.allocate(capacity: larger)
    grown.moveInitialize(from: slots, count: capacity)
    slots.deallocate()
    slots = grown
    for slot in stride(from: larger - 1, through: capacity, by: -1) {
      (slots + slot).initialize(to: ServerSlot())
      slots[slot].next = firstFree
      firstFree = slot
    }
    capacity = larger
  }
}

func setServerCallbacks(_ callbacks: OpaquePointer) {
  nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, onBeginFrame)
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, onBeginHeaders)
  nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onDataChunk)
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClose)
}

/// Hands out the next piece of a response body.
let readServerBody: nghttp2_data_source_read_callback = {
  _, _, buffer, length, flags, source, userData in
  guard let buffer, let flags, let source, let userData else {
    return ssize_t(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
  }
  return withSession(userData) { session in
    let slot = Int(bitPattern: source.pointee.ptr) - 1
    guard session.stream(of: slot) != nil else {
      return ssize_t(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
    }
    let entry = session.state.pointee.slots + slot
    if entry.pointee.hasSource, let made = session.sources[slot] {
      // A client that reads a long body acknowledges it with many WINDOW_UPDATEs.
      session.state.pointee.framesWithoutProgress = 0
      let (count, isFinal) = made.read(
        into: UnsafeMutableRawBufferPointer(start: buffer, count: length))
      if isFinal { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
      guard count > 0 || isFinal else {
        return ssize_t(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
      }
      return count
    }
    let left = entry.pointee.bodyCount - entry.pointee.bodyOffset
    let count = min(left, length)
    if count > 0, let body = entry.pointee.body {
      buffer.update(from: body + entry.pointee.bodyOffset, count: count)
      entry.pointee.bodyOffset += count
    }
    if count == left { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return count
  }
}

@inline(__always)
private func withSession<Result>(
  _ userData: UnsafeMutableRawPointer, _ body: (HTTP2ServerSession) -> Result
) -> Result {
  Unmanaged<HTTP2ServerSession>.fromOpaque(userData)._withUnsafeGuaranteedRef(body)
}

@inline(__always)
private func slotIndex(
  _ native: OpaquePointer?, _ stream: Int32, _ session: HTTP2ServerSession
) -> Int? {
  let state = session.state
  guard stream > 0, !state.pointee.isDead else { return nil }
  // The calls about one frame follow each other: mostly it is the stream of the call before.
  let last = state.pointee.lastSlot
  if last < state.pointee.capacity, state.pointee.slots[last].stream == stream { return last }
  let index = Int(bitPattern: nghttp2_session_get_stream_user_data(native, stream)) - 1
  guard index >= 0, session.stream(of: index) == stream else { return nil }
  state.pointee.lastSlot = index
  return index
}

private func onBeginFrame(
  _ native: OpaquePointer?, _ header: UnsafePointer<nghttp2_frame_hd>?,
  _ userData: UnsafeMutableRawPointer?
) -> Int32 {
  guard let userData, let header else { return 0 }
  withSession(userData) { session in
    let state = session.state
    guard isWorthCounting(header, largePiece: state.pointee.largePiece) else { return }
    state.pointee.framesWithoutProgress += 1
  }
  return 0
}

private func onBeginHeaders(
  _ native: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ userData: UnsafeMutableRawPointer?
) -> Int32 {
  guard let frame, let userData, UInt32(frame.pointee.hd.type) == NGHTTP2_HEADERS.rawValue,
    frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
  else { return 0 }
  return withSession(userData) { session in
    guard !session.state.pointee.isDead else { return 0 }
    let stream = frame.pointee.hd.stream_id
    let slot = session.state.pointee.take(stream: stream)
    session.state.pointee.lastSlot = slot
    nghttp2_session_set_stream_user_data(
      native, stream, UnsafeMutableRawPointer(bitPattern: slot + 1))
    session.relay.began(slot, stream)
    return 0
  }
}

private func onHeader(
  _ native: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ name: UnsafePointer<UInt8>?, _ nameCount: Int,
  _ value: UnsafePointer<UInt8>?, _ valueCount: Int,
  _ flags: UInt8, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
  guard let frame, let name, let value, let userData else { return 0 }
  return withSession(userData) { session in
    guard let slot = slotIndex(native, frame.pointee.hd.stream_id, session) else { return 0 }
    let entry = session.state.pointee.slots + slot
    entry.pointee.headerListBytes += nameCount + valueCount + 32
    guard entry.pointee.headerListBytes <= session.options.maximumHeaderListBytes else {
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }
    guard !entry.pointee.headIsComplete else { return 0 }
    session.relay.field(
      slot, UnsafeRawBufferPointer(start: name, count: nameCount),
      UnsafeRawBufferPointer(start: value, count: valueCount))
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
    session.relay.body(slot, UnsafeRawBufferPointer(start: data, count: count))
  }
  return 0
}

private func onFrame(
  _ native: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ userData: UnsafeMutableRawPointer?
) -> Int32 {
  guard let frame, let userData else { return 0 }
  let header = frame.pointee.hd
  let type = UInt32(header.type)
  guard type == NGHTTP2_HEADERS.rawValue || type == NGHTTP2_DATA.rawValue else { return 0 }
  withSession(userData) { session in
    guard let slot = slotIndex(native, header.stream_id, session) else { return }
    if type == NGHTTP2_HEADERS.rawValue {
      session.state.pointee.slots[slot].headIsComplete = true
    }
    guard header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 else { return }
    session.state.pointee.framesWithoutProgress = 0
    session.relay.ended(slot)
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
    let hadSource = session.state.pointee.slots[slot].hasSource
    session.state.pointee.free(slot)
    if hadSource { session.sources[slot] = nil }
    session.relay.closed(slot, errorCode)
  }
  return 0
}
