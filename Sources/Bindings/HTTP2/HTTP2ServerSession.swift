import CNghttp2

/// The server's half of an HTTP/2 connection: the twin of `HTTP2ClientSession`, for the APNs
/// simulator and for tests. What was heard is told by `nextHeard`.
package final class HTTP2ServerSession: HTTP2Session {
  private var slots = ServerSlots()
  private var log = RequestLog()
  private var sources: [Int: any HTTP2BodySource] = [:]

  package init(options: HTTP2ServerOptions) throws(HTTP2Error) {
    try super.init(
      .server, limits: options.limits,
      settings: [
        setting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options.maximumConcurrentStreams)
      ])
    setLargePiece(min(options.limits.streamWindowBytes, options.limits.connectionWindowBytes))
  }

  deinit {
    slots.deallocate()
    log.deallocate()
  }

  // MARK: What was heard

  /// The next that a client has said; nil: nothing more, or the session was abandoned.
  package func nextHeard() -> HTTP2Request? {
    guard !state.pointee.isDead, let heard = log.take() else { return nil }
    if case .closed(let slot, _) = heard { slots.free(slot) }
    return heard
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
    _ = nghttp2_submit_rst_stream(native, flagNone, stream, errorCode)
  }

  /// The identifier of the stream in `slot`, or nil.
  package func stream(of slot: Int) -> Int32? {
    let stream = stream(at: slot)
    return stream == 0 ? nil : stream
  }

  // MARK: The connection

  /// Tells the client how many streams it may have open from now on.
  package func setMaximumConcurrentStreams(_ count: Int) {
    guard !state.pointee.isDead else { return }
    let entry = [setting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, count)]
    _ = nghttp2_submit_settings(native, flagNone, entry, 1)
  }

  /// Tells the client how many body bytes each stream may send ahead, open ones included.
  package func setStreamWindow(_ bytes: Int) {
    guard !state.pointee.isDead else { return }
    setLargePiece(bytes)
    let entry = [setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, bytes)]
    _ = nghttp2_submit_settings(native, flagNone, entry, 1)
  }

  /// Takes no streams above `lastStreamID`; those that are open close with REFUSED_STREAM.
  package func goAway(
    lastStreamID: Int32, errorCode: UInt32,
    debug: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) {
    guard !state.pointee.isDead else { return }
    _ = nghttp2_submit_goaway(
      native, flagNone, lastStreamID, errorCode,
      debug.baseAddress?.assumingMemoryBound(to: UInt8.self), debug.count)
  }

  // MARK: Helpers

  private func setLargePiece(_ window: Int) {
    state.pointee.largePiece = min(max(window, 1), 1024)
  }

  private func unanswered(_ slot: Int) -> UnsafeMutablePointer<ServerSlot>? {
    guard stream(of: slot) != nil, !state.pointee.isDead, !slots[slot].pointee.isAnswered
    else { return nil }
    return slots[slot]
  }

  private func submit(
    _ slot: Int, _ entry: UnsafeMutablePointer<ServerSlot>, _ block: HTTP2FieldBlock, hasBody: Bool
  ) -> Bool {
    entry.pointee.isAnswered = true
    let stream = entry.pointee.stream
    guard hasBody else {
      return nghttp2_submit_response(native, stream, block.native, block.count, nil) == 0
    }
    var provider = bodyProvider(slot: slot)
    return nghttp2_submit_response(native, stream, block.native, block.count, &provider) == 0
  }

  // MARK: What nghttp2 says

  override func stream(at slot: Int) -> Int32 {
    slot >= 0 && slot < slots.capacity ? slots[slot].pointee.stream : 0
  }

  override func requestBegan(_ stream: Int32) -> Int {
    let slot = slots.take(stream: stream)
    log.began(slot, stream)
    return slot
  }

  override func field(
    _ slot: Int, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    guard limits.takes(name, value, &slots[slot].pointee.headerListBytes), !log.isFull
    else { return false }
    if !slots[slot].pointee.headIsComplete { log.field(slot, name, value) }
    return true
  }

  override func body(_ slot: Int, _ bytes: UnsafeBufferPointer<UInt8>) { log.body(slot, bytes) }

  override func frameEnded(_ slot: Int, isHeaders: Bool, endsStream: Bool) {
    if isHeaders { slots[slot].pointee.headIsComplete = true }
    guard endsStream else { return }
    state.pointee.framesWithoutProgress = 0
    log.ended(slot)
  }

  /// The slot is free when its owner has heard of it: within one `receive` another request may
  /// come, and must not get this one's answer.
  override func closed(_ slot: Int, errorCode: UInt32) {
    slots[slot].pointee.stream = 0
    if slots[slot].pointee.hasSource { sources[slot] = nil }
    log.closed(slot, errorCode)
  }

  override func nextPiece(
    _ slot: Int, into buffer: UnsafeMutableBufferPointer<UInt8>
  ) -> (count: Int, isFinal: Bool) {
    let entry = slots[slot]
    if entry.pointee.hasSource, let made = sources[slot] {
      // A client that reads a long body acknowledges it with many WINDOW_UPDATEs.
      state.pointee.framesWithoutProgress = 0
      return made.read(into: UnsafeMutableRawBufferPointer(buffer))
    }
    let left = entry.pointee.bodyCount - entry.pointee.bodyOffset
    let count = min(left, buffer.count)
    if count > 0, let body = entry.pointee.body {
      buffer.baseAddress?.update(from: body + entry.pointee.bodyOffset, count: count)
      entry.pointee.bodyOffset += count
    }
    return (count, count == left)
  }
}
