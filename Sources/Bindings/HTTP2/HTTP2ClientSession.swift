import CNghttp2

/// The client's half of an HTTP/2 connection: bytes in, bytes out, no socket (RFC 9113). Requests
/// live in numbered slots that the owner chooses; the owner keeps what belongs to a request under
/// the same number.
///
/// Confined to one thread, as its connection is. It calls nobody: what was heard is asked for after
/// `receive` and `nextOutput`, by `nextEnded`, `takeGoAway` and `takeSettingsChange`.
///
/// After `receive` or `nextOutput` has thrown, or after `abandon()`, nothing more is heard and
/// every slot that was open stays without an end: the owner re-queues them by its own table and
/// closes the connection.
package final class HTTP2ClientSession {
  private let session: OpaquePointer
  let slots: UnsafeMutablePointer<ClientSlot>
  let state: UnsafeMutablePointer<ClientState>
  let options: HTTP2ClientOptions
  let capacity: Int
  /// A ring with room for all slots, since none is here twice.
  let ended: UnsafeMutablePointer<ClientEnd>
  /// By slot, of responses that said more than their status.
  private var contents: [Int: HTTP2Content] = [:]
  var goAwayHeard: HTTP2GoAway?

  package init(options: HTTP2ClientOptions) throws(HTTP2Error) {
    self.options = options
    session = try HTTP2ClientSession.makeNative(options)
    capacity = max(options.maximumSlots, 1)
    ended = .allocate(capacity: capacity)
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: ClientSlot(), count: capacity)
    state = .allocate(capacity: 1)
    state.initialize(to: ClientState())
    // Not retained: nghttp2 calls back only from inside calls on this object, which holds the
    // session.
    nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
    try submitPreface()
  }

  deinit {
    // Calls no callback, and reads no borrowed header value and no borrowed body.
    nghttp2_session_del(session)
    slots.deallocate()
    ended.deallocate()
    state.deallocate()
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
    else {
      throw HTTP2Error(.slotUnavailable, "request slot \(slot) is in use or does not exist")
    }
    try checkAlive()
    guard !state.pointee.goAwayReceived else {
      throw HTTP2Error(.goingAway, "the server takes no new requests on this connection")
    }
    let userData = UnsafeMutableRawPointer(bitPattern: slot + 1)
    let stream: Int32
    if body.isEmpty {
      stream = nghttp2_submit_request(session, nil, block.native, block.count, nil, userData)
    } else {
      var provider = nghttp2_data_provider()
      provider.source.ptr = userData
      provider.read_callback = readClientBody
      stream = nghttp2_submit_request(session, nil, block.native, block.count, &provider, userData)
    }
    guard stream > 0 else { throw HTTP2Error.library(stream, while: "submitting a request") }
    slots[slot] = ClientSlot(stream: stream, body: body)
    state.pointee.openStreams += 1
    return stream
  }

  /// Ends a stream early: it has ended, with this error code, when `nextOutput()` has said so.
  package func reset(stream: Int32, errorCode: UInt32) {
    guard !state.pointee.isDead else { return }
    // Fails for want of memory and for stream 0 only; then the stream's deadline passes again.
    _ = nghttp2_submit_rst_stream(session, flagNone, stream, errorCode)
  }

  /// Asks the server for a sign of life; `pingAcknowledgements` grows, or nothing happens.
  package func ping() {
    guard !state.pointee.isDead else { return }
    _ = nghttp2_submit_ping(session, flagNone, nil)
  }

  /// Tells the server that no request will follow. Open ones go on to their end.
  package func goAway() {
    guard !state.pointee.isDead else { return }
    _ = nghttp2_submit_goaway(session, flagNone, 0, HTTP2ErrorCode.noError, nil, 0)
  }

  // MARK: What was heard

  /// A request that is over, in the order of their ends; its slot is free then. nil: no other is.
  package func nextEnded() -> HTTP2Ended? {
    guard state.pointee.endedCount > 0 else { return nil }
    let first = state.pointee.firstEnded
    state.pointee.firstEnded = first + 1 == capacity ? 0 : first + 1
    state.pointee.endedCount -= 1
    let end = ended[first]
    let slot = Int(end.slot)
    let hasContent = slots[slot].hasContent
    slots[slot] = ClientSlot()
    return HTTP2Ended(
      slot: slot, status: Int(end.status), errorCode: end.errorCode,
      content: hasContent ? contents.removeValue(forKey: slot) : nil)
  }

  /// Requests are over that `nextEnded` has not said yet.
  package var hasEnded: Bool { state.pointee.endedCount > 0 }

  /// Of the final response head of a request that is open; 0 until it has come. 1xx heads are
  /// swallowed.
  package func status(of slot: Int) -> Int {
    guard slot >= 0 && slot < options.maximumSlots, slots[slot].headIsComplete else { return 0 }
    return Int(slots[slot].status)
  }

  /// What the server said last when it took no new streams; nil when it said nothing since.
  package func takeGoAway() -> HTTP2GoAway? {
    guard state.pointee.goAwayReceived else { return nil }
    defer { goAwayHeard = nil }
    return goAwayHeard
  }

  /// Whether the server's SETTINGS came since this was asked: read `remoteMaxConcurrentStreams`
  /// again.
  package func takeSettingsChange() -> Bool {
    defer { state.pointee.settingsChanged = false }
    return state.pointee.settingsChanged
  }

  package var pingAcknowledgements: Int { state.pointee.pingAcknowledgements }

  private func content(_ slot: Int) -> HTTP2Content {
    if let content = contents[slot] { return content }
    let content = HTTP2Content()
    contents[slot] = content
    slots[slot].hasContent = true
    return content
  }

  func keep(
    _ slot: Int, field name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
  ) {
    content(slot).fields.append((Array(name), Array(value)))
  }

  func keep(_ slot: Int, body: UnsafeBufferPointer<UInt8>) {
    guard !body.isEmpty else { return }
    let content = content(slot)
    let room = options.keptBodyBytes - content.body.count
    if room > 0 { content.body.append(contentsOf: body.prefix(room)) }
  }

  // MARK: Its end

  /// The connection is lost: nothing is heard from now on, not even of the open slots.
  package func abandon() {
    state.pointee.isDead = true
  }

  // MARK: Bytes

  /// Takes bytes from the server, in pieces of any size. Bytes that break the protocol do not throw
  /// at once: a GOAWAY that says why comes out of `nextOutput()`, and then that throws.
  package func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
    try checkAlive()
    guard let base = bytes.baseAddress, !bytes.isEmpty, !state.pointee.isTerminating else { return }
    let taken = nghttp2_session_mem_recv(
      session, base.assumingMemoryBound(to: UInt8.self), bytes.count)
    guard taken >= 0 else { throw die(.library(Int32(taken), while: "reading")) }
    state.pointee.bytesWithoutProgress += bytes.count
    if state.pointee.framesWithoutProgress > options.maximumFramesWithoutProgress
      || state.pointee.bytesWithoutProgress > options.maximumBytesWithoutProgress
    {
      // Outside of the callbacks: nghttp2 goes on reading after a call of this inside of one, and
      // has aborted the process for that (CVE-2026-27135). We feed it no more.
      state.pointee.isTerminating = true
      state.pointee.isFlooded = true
      _ = nghttp2_session_terminate_session(session, HTTP2ErrorCode.enhanceYourCalm)
    }
  }

  /// The next bytes to write, good until the next call on this session, or nil when there is
  /// nothing to write now. Call it until nil after every `receive` and after a round of `submit`s.
  package func nextOutput() throws(HTTP2Error) -> UnsafeRawBufferPointer? {
    try checkAlive()
    var data: UnsafePointer<UInt8>?
    let count = nghttp2_session_mem_send(session, &data)
    if count > 0 { return UnsafeRawBufferPointer(start: data, count: count) }
    guard count == 0 else { throw die(.library(Int32(count), while: "writing")) }
    if state.pointee.goAwayErrorSent != HTTP2ErrorCode.noError { throw die(violation()) }
    return nil
  }

  /// False: there is nothing left to read or to write, close the connection.
  package var wantsIO: Bool {
    !state.pointee.isDead
      && (nghttp2_session_want_read(session) != 0 || nghttp2_session_want_write(session) != 0)
  }

  // MARK: What the peer allows

  /// Requests that have not ended yet.
  package var openStreams: Int { state.pointee.openStreams }

  /// `options.assumedMaximumStreams` until the server's SETTINGS have arrived.
  package var remoteMaxConcurrentStreams: Int {
    Int(nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
  }

  /// Body bytes that the server takes now, for all streams together.
  package var remoteConnectionWindow: Int {
    Int(nghttp2_session_get_remote_window_size(session))
  }

  /// Body bytes that the server takes of each new stream.
  package var remoteInitialStreamWindow: Int {
    Int(nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE))
  }

  package var settingsReceived: Bool { state.pointee.settingsReceived }

  /// Odd, from 1. `Int32.max` when they are used up.
  package var nextStreamID: Int32 {
    Int32(clamping: nghttp2_session_get_next_stream_id(session))
  }

  // MARK: Helpers

  private func checkAlive() throws(HTTP2Error) {
    guard !state.pointee.isDead else {
      throw HTTP2Error(.closed, "this HTTP/2 session has ended; open a new connection")
    }
  }

  private func die(_ error: HTTP2Error) -> HTTP2Error {
    state.pointee.isDead = true
    return error
  }

  private func violation() -> HTTP2Error {
    let name = HTTP2ErrorCode.name(state.pointee.goAwayErrorSent)
    if state.pointee.isFlooded {
      return HTTP2Error(.flooded, "the server sent too many frames for nothing; told it \(name)")
    }
    return HTTP2Error(.protocolViolation, "the server broke HTTP/2; told it \(name)")
  }

  private func submitPreface() throws(HTTP2Error) {
    let entries = [
      setting(NGHTTP2_SETTINGS_ENABLE_PUSH, 0),
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

  private static func makeNative(
    _ options: HTTP2ClientOptions
  ) throws(HTTP2Error) -> OpaquePointer {
    try makeNativeSession(
      isServer: false,
      fillOptions: { option in
        nghttp2_option_set_no_closed_streams(option, 1)
        nghttp2_option_set_max_reserved_remote_streams(option, 0)
        nghttp2_option_set_peer_max_concurrent_streams(
          option, UInt32(clamping: options.assumedMaximumStreams))
        nghttp2_option_set_max_deflate_dynamic_table_size(option, options.headerTableBytes)
        nghttp2_option_set_max_outbound_ack(option, options.maximumQueuedAcknowledgements)
        nghttp2_option_set_max_settings(option, options.maximumSettingsEntries)
        nghttp2_option_set_max_continuations(option, options.maximumContinuations)
      }, setCallbacks: setClientCallbacks)
  }
}

let flagNone = UInt8(NGHTTP2_FLAG_NONE.rawValue)
