import CNghttp2

/// The common part of both halves of an HTTP/2 connection: bytes in, bytes out, no socket (RFC
/// 9113). Confined to one thread, as its connection is. It calls nobody; its owner asks for
/// received data after `receive` and `nextOutput`.
///
/// nghttp2's calls arrive in the methods under "nghttp2's calls", which each half overrides.
package class HTTP2Session {
  let native: OpaquePointer
  let limits: HTTP2Limits
  /// Never moves, and is reached without exclusivity checks: this is the hot path.
  let state: UnsafeMutablePointer<SessionState>

  init(
    _ role: SessionRole, limits: HTTP2Limits, settings: [nghttp2_settings_entry]
  ) throws(HTTP2Error) {
    self.limits = limits
    native = try makeNativeSession(role, limits)
    state = .allocate(capacity: 1)
    state.initialize(to: SessionState())
    // Not retained: nghttp2 calls back only from inside calls on this object, which holds the
    // session.
    nghttp2_session_set_user_data(native, Unmanaged.passUnretained(self).toOpaque())
    try submitPreface(settings)
  }

  deinit {
    // Calls no callback, and reads no borrowed header value and no borrowed body.
    nghttp2_session_del(native)
    state.deallocate()
  }

  // MARK: Bytes

  /// Takes bytes from the peer, in pieces of any size. Bytes that break the protocol do not throw
  /// at once: a GOAWAY that says why comes out of `nextOutput()`, and then a client's throws.
  package final func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
    try checkAlive()
    guard let base = bytes.baseAddress, !bytes.isEmpty, !state.pointee.isTerminating else { return }
    let taken = nghttp2_session_mem_recv(
      native, base.assumingMemoryBound(to: UInt8.self), bytes.count)
    guard taken >= 0 else { throw die(.library(Int32(taken), while: "reading")) }
    state.pointee.bytesWithoutProgress += bytes.count
    if state.pointee.framesWithoutProgress > limits.maximumFramesWithoutProgress
      || state.pointee.bytesWithoutProgress > limits.maximumBytesWithoutProgress
    {
      // Outside of the callbacks: nghttp2 goes on reading after a call of this inside of one, and
      // has aborted the process for that (CVE-2026-27135). We feed it no more.
      state.pointee.isTerminating = true
      state.pointee.isFlooded = true
      _ = nghttp2_session_terminate_session(native, HTTP2ErrorCode.enhanceYourCalm)
    }
  }

  /// The next bytes to write, good until the next call on this session, or nil when there is
  /// nothing to write now. Call it until nil after every `receive` and after all that was said.
  package final func nextOutput() throws(HTTP2Error) -> UnsafeRawBufferPointer? {
    try checkAlive()
    var data: UnsafePointer<UInt8>?
    let count = nghttp2_session_mem_send(native, &data)
    if count > 0 { return UnsafeRawBufferPointer(start: data, count: count) }
    guard count == 0 else { throw die(.library(Int32(count), while: "writing")) }
    if state.pointee.goAwayErrorSent != HTTP2ErrorCode.noError { throw die(violation()) }
    return nil
  }

  /// False: there is nothing left to read or to write, close the connection.
  package final var wantsIO: Bool {
    !state.pointee.isDead
      && (nghttp2_session_want_read(native) != 0 || nghttp2_session_want_write(native) != 0)
  }

  /// The peer has sent too much for nothing. Further bytes of it are dropped; the GOAWAY comes out
  /// of `nextOutput()`.
  package final var isFlooded: Bool { state.pointee.isFlooded }

  // MARK: The connection

  /// Requests that have not ended yet.
  package final var openStreams: Int { state.pointee.openStreams }

  /// Asks the peer for a sign of life.
  package final func ping() {
    guard !state.pointee.isDead else { return }
    _ = nghttp2_submit_ping(native, flagNone, nil)
  }

  /// The connection is lost: nothing is heard from now on, not even of the open slots.
  package final func abandon() {
    state.pointee.isDead = true
  }

  final func checkAlive() throws(HTTP2Error) {
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

  private func submitPreface(_ own: [nghttp2_settings_entry]) throws(HTTP2Error) {
    let entries =
      own + [
        setting(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, limits.headerTableBytes),
        setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.streamWindowBytes),
        setting(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.maximumHeaderListBytes),
      ]
    var failure = nghttp2_submit_settings(native, flagNone, entries, entries.count)
    if failure == 0 {
      failure = nghttp2_session_set_local_window_size(
        native, flagNone, 0, Int32(clamping: limits.connectionWindowBytes))
    }
    guard failure == 0 else { throw die(.library(failure, while: "writing the preface")) }
  }

  // MARK: nghttp2's calls

  /// The stream in a slot; 0: none, or there is no such slot.
  func stream(at slot: Int) -> Int32 { 0 }

  /// A client has opened a stream: the slot that is its own from now on.
  func requestBegan(_ stream: Int32) -> Int { 0 }

  /// The head of an answer, or trailers.
  func headersBegan(_ slot: Int) {}

  /// Pseudo-header fields and trailers too. False closes the stream.
  func field(
    _ slot: Int, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
  ) -> Bool { true }

  func body(_ slot: Int, _ bytes: UnsafeBufferPointer<UInt8>) {}

  /// A frame of a stream is complete, HEADERS or DATA.
  func frameEnded(_ slot: Int, isHeaders: Bool, endsStream: Bool) {}

  func controlFrame(_ frame: UnsafePointer<nghttp2_frame>) {}

  func dataSent(_ count: Int) {}

  /// A request is not sent after all; `closed` follows.
  func withheld(_ slot: Int) {}

  func closed(_ slot: Int, errorCode: UInt32) {}

  /// The next piece of the body that this side sends. No byte of one that is not over is an error.
  func nextPiece(
    _ slot: Int, into buffer: UnsafeMutableBufferPointer<UInt8>
  ) -> (count: Int, isFinal: Bool) { (0, true) }
}

/// State that a session keeps from one call to the next.
struct SessionState {
  var openStreams = 0
  var framesWithoutProgress = 0
  var bytesWithoutProgress = 0
  /// A DATA frame of so many bytes is no small one: 1 KiB, or all that our window lets a peer send
  /// at once.
  var largePiece = 1024
  /// The slot that was looked up last.
  var lastSlot = 0
  /// Error code of a GOAWAY that a client's nghttp2 sent on its own account.
  var goAwayErrorSent: UInt32 = 0
  var isDead = false
  var isTerminating = false
  var isFlooded = false
}
