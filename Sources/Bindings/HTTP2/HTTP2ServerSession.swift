import CNghttp2

/// The server's half of an HTTP/2 connection: the twin of `HTTP2ClientSession`, for the APNs
/// simulator and for tests. Confined to one thread. The delegate owns the session and must not let
/// go of it inside a callback. After `receive` or `nextOutput` has thrown nothing is reported any
/// more.
package final class HTTP2ServerSession {
  private let session: OpaquePointer
  let state: UnsafeMutablePointer<ServerState>
  let options: HTTP2ServerOptions
  var sources: [Int: any HTTP2BodySource] = [:]
  let relay: ServerRelay

  package init(
    options: HTTP2ServerOptions, delegate: any HTTP2ServerDelegate
  ) throws(HTTP2Error) {
    self.options = options
    relay = ServerRelay.make(delegate)
    session = try makeNativeSession(
      isServer: true,
      fillOptions: { option in
        nghttp2_option_set_no_closed_streams(option, 1)
        nghttp2_option_set_max_deflate_dynamic_table_size(option, options.headerTableBytes)
        nghttp2_option_set_max_outbound_ack(option, options.maximumQueuedAcknowledgements)
        nghttp2_option_set_max_settings(option, options.maximumSettingsEntries)
        nghttp2_option_set_max_continuations(option, options.maximumContinuations)
      }, setCallbacks: setServerCallbacks)
    state = .allocate(capacity: 1)
    state.initialize(to: ServerState(options))
    // Not retained: nghttp2 calls back only from inside calls on this object, which holds the
    // session.
    nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
    try submitPreface()
  }

  deinit {
    nghttp2_session_del(session)
    state.pointee.deallocateSlots()
    state.deallocate()
  }

  // MARK: Answers

  /// Answers the request in `slot`; `block` must live as `HTTP2FieldBlock.Values` says, the body is
  /// copied. A request is answered once; a second answer is refused.
  /// - Returns: false when there is no such request, or it is answered already.
  @discardableResult
  package func respond(
    slot: Int, _ block: HTTP2FieldBlock, body: UnsafeRawBufferPointer
  ) -> Bool {
    guard let entry = unanswered(slot) else { return false }
    if let bytes = body.baseAddress, !body.isEmpty {
      let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: body.count)
      copy.update(from: bytes.assumingMemoryBound(to: UInt8.self), count: body.count)
      entry.pointee.body = copy
      entry.pointee.bodyCount = body.count
    }
    return submit(slot, entry, block, hasBody: !body.isEmpty)
  }

  /// Answers with a body that `source` makes bit by bit; kept until the stream has closed.
  @discardableResult
  package func respond(slot: Int, _ block: HTTP2FieldBlock, source: any HTTP2BodySource) -> Bool {
    guard let entry = unanswered(slot) else { return false }
    sources[slot] = source
    entry.pointee.hasSource = true
    return submit(slot, entry, block, hasBody: true)
  }

  /// Ends a request without an answer.
  package func reset(slot: Int, errorCode: UInt32) {
    guard let stream = stream(of: slot), !state.pointee.isDead else { return }
    _ = nghttp2_submit_rst_stream(session, flagNone, stream, errorCode)
  }

  /// The identifier of the stream in `slot`, or nil.
  package func stream(of slot: Int) -> Int32? {
    guard slot >= 0 && slot < state.pointee.capacity else { return nil }
    let stream = state.pointee.slots[slot].stream
    return stream == 0 ? nil : stream
  }

  // MARK: The connection

  /// Tells the client how many streams it may have open from now on.
  package func setMaximumConcurrentStreams(_ count: Int) {
    guard !state.pointee.isDead else { return }
    let entry = [setting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, count)]
    _ = nghttp2_submit_settings(session, flagNone, entry, 1)
  }

  /// Tells the client how many body bytes each stream may send ahead, open ones included.
  package func setStreamWindow(_ bytes: Int) {
    guard !state.pointee.isDead else { return }
    state.pointee.setStreamWindow(bytes)
    let entry = [setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, bytes)]
    _ = nghttp2_submit_settings(session, flagNone, entry, 1)
  }

  /// Takes no streams above `lastStreamID`; those that are open close with REFUSED_STREAM.
  package func goAway(lastStreamID: Int32, errorCode: UInt32, debug: UnsafeRawBufferPointer) {
    guard !state.pointee.isDead else { return }
    _ = nghttp2_submit_goaway(
      session, flagNone, lastStreamID, errorCode,
      debug.baseAddress?.assumingMemoryBound(to: UInt8.self), debug.count)
  }

  package func ping() {
    guard !state.pointee.isDead else { return }
    _ = nghttp2_submit_ping(session, flagNone, nil)
  }

  /// The connection is lost: report nothing from now on.
  package func abandon() {
    state.pointee.isDead = true
  }

  // MARK: Bytes

  /// Takes bytes from the client, in pieces of any size; see `HTTP2ClientSession.receive`.
  package func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
    try checkAlive()
    guard let base = bytes.baseAddress, !bytes.isEmpty, !state.pointee.isTerminating else { return }
    state.pointee.isReceiving = true
    defer { state.pointee.isReceiving = false }
    let taken = nghttp2_session_mem_recv(
      session, base.assumingMemoryBound(to: UInt8.self), bytes.count)
    guard taken >= 0 else { throw die(.library(Int32(taken), while: "reading")) }
    if state.pointee.framesWithoutProgress > options.maximumFramesWithoutProgress {
      // Never inside of a callback: see HTTP2ClientSession.receive.
      state.pointee.isTerminating = true
      _ = nghttp2_session_terminate_session(session, HTTP2ErrorCode.enhanceYourCalm)
    }
  }

  /// The next bytes to write, good until the next call on this session, or nil. Nil inside of
  /// `receive`, whose callbacks nghttp2 must not be asked to send from: ask again after it.
  package func nextOutput() throws(HTTP2Error) -> UnsafeRawBufferPointer? {
    try checkAlive()
    guard !state.pointee.isReceiving else { return nil }
    var data: UnsafePointer<UInt8>?
    let count = nghttp2_session_mem_send(session, &data)
    if count > 0 { return UnsafeRawBufferPointer(start: data, count: count) }
    guard count == 0 else { throw die(.library(Int32(count), while: "writing")) }
    return nil
  }

  /// False: there is nothing left to read or to write, close the connection.
  package var wantsIO: Bool {
    !state.pointee.isDead
      && (nghttp2_session_want_read(session) != 0 || nghttp2_session_want_write(session) != 0)
  }

  package var openStreams: Int { state.pointee.openStreams }

  // MARK: Helpers

  private func unanswered(_ slot: Int) -> UnsafeMutablePointer<ServerSlot>? {
    guard stream(of: slot) != nil, !state.pointee.isDead,
      !state.pointee.slots[slot].isAnswered
    else { return nil }
    return state.pointee.slots + slot
  }

  private func submit(
    _ slot: Int, _ entry: UnsafeMutablePointer<ServerSlot>, _ block: HTTP2FieldBlock, hasBody: Bool
  ) -> Bool {
    entry.pointee.isAnswered = true
    let stream = entry.pointee.stream
    guard hasBody else {
      return nghttp2_submit_response(session, stream, block.native, block.count, nil) == 0
    }
    var provider = nghttp2_data_provider()
    provider.source.ptr = UnsafeMutableRawPointer(bitPattern: slot + 1)
    provider.read_callback = readServerBody
    return nghttp2_submit_response(session, stream, block.native, block.count, &provider) == 0
  }

  private func checkAlive() throws(HTTP2Error) {
    guard !state.pointee.isDead else {
      throw HTTP2Error(.closed, "this HTTP/2 session has ended")
    }
  }

  private func die(_ error: HTTP2Error) -> HTTP2Error {
    state.pointee.isDead = true
    return error
  }

  private func submitPreface() throws(HTTP2Error) {
    let entries = [
      setting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options.maximumConcurrentStreams),
      setting(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, options.headerTableBytes),
      setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, options.streamWindowBytes),
      setting(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, options.maximumHeaderListBytes),
    ]
    var failure = nghttp2_submit_settings(session, flagNone, entries, entries.count)
    if failure == 0 {
      failure = nghttp2_session_set_local_window_size(
        session, flagNone, 0, Int32(clamping: options.connectionWindowBytes))
    }
    guard failure == 0 else { throw die(.library(failure, while: "writing the preface")) }
  }
}
