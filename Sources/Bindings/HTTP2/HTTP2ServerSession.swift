import CNghttp2

/// The server's half of an HTTP/2 connection: the twin of `HTTP2ClientSession`, for the APNs
/// simulator and for tests. `nextHeard` returns received data.
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

  // MARK: received data

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
  package func respond(slot: Int, _ block: HTTP2FieldBlock, body: UnsafeRawBufferPointer) -> Bool {
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

  // MARK: nghttp2's calls

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

/// A response body that is made while it is sent, so that a long one needs no memory.
package protocol HTTP2BodySource: AnyObject {
  /// Fills some of `buffer`, which is never empty. `isFinal` ends the body; until then at least one
  /// byte must be written.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isFinal: Bool)
}

package struct HTTP2ServerOptions: Sendable {
  /// Streams that a client may have open; can be changed later.
  package var maximumConcurrentStreams = 1000
  package var limits = HTTP2Limits()

  package init() {
    // 1,000 bodies of 5 KiB and more, so that no client waits for us.
    limits.connectionWindowBytes = 8 << 20
  }
}

/// One part of a client's request, in the order of arrival. A slot is a small number that belongs
/// to one request until its `.closed`. Bytes are good until the next call on the session.
package enum HTTP2Request {
  case began(slot: Int, stream: Int32)
  /// Pseudo-header fields too; trailers are not reported.
  case field(slot: Int, name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)
  case body(slot: Int, UnsafeRawBufferPointer)
  /// Head and body are complete: answer now or later.
  case ended(slot: Int)
  /// The stream is over, answered or not; the slot is free.
  case closed(slot: Int, errorCode: UInt32)
}

struct ServerSlot {
  /// 0: no stream, or one that is over and whose owner has not heard so yet.
  var stream: Int32 = 0
  /// The next free slot, of a free one.
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

/// A server's requests by slot. The table grows to the most streams that were ever open, which is
/// what the session allowed, and those that have ended within one `receive`.
struct ServerSlots {
  private var slots: UnsafeMutablePointer<ServerSlot>
  private(set) var capacity = 0
  private var firstFree = -1

  init() { slots = .allocate(capacity: 1) }

  func deallocate() {
    for slot in 0..<capacity { slots[slot].body?.deallocate() }
    slots.deallocate()
  }

  /// Good until the next `take`.
  subscript(slot: Int) -> UnsafeMutablePointer<ServerSlot> { slots + slot }

  mutating func take(stream: Int32) -> Int {
    if firstFree < 0 { grow() }
    let slot = firstFree
    firstFree = slots[slot].next
    slots[slot] = ServerSlot()
    slots[slot].stream = stream
    return slot
  }

  mutating func free(_ slot: Int) {
    slots[slot].body?.deallocate()
    slots[slot] = ServerSlot()
    slots[slot].next = firstFree
    firstFree = slot
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

/// The requests of one `receive`, until their owner has taken them all: entries that count no
/// references, and their bytes behind each other in one block.
struct RequestLog {
  private enum Kind { case began, field, body, ended, closed }

  private struct Entry {
    let kind: Kind
    let slot: Int32
    /// The stream's identifier, its error code, or where a field's value begins behind its name.
    var number: UInt32 = 0
    var start = 0
    var count = 0
  }

  /// A log keeps at most this much for reuse after it was emptied; more is given back.
  private static let keptBytes = 256 * 1024
  private static let keptEntries = 16_384
  /// Sixteen times what a socket gives at once, and as much again for the entries: compression
  /// makes two or three times as much of a request.
  private static let mostBytes = 4 << 20
  private static let mostEntries = mostBytes / MemoryLayout<Entry>.stride

  private var entries: [Entry] = []
  private var next = 0
  private var block: UnsafeMutablePointer<UInt8>
  private var capacity = 4096
  private var used = 0

  init() { block = .allocate(capacity: capacity) }

  /// No more fields are kept until what is here has been asked for. The bytes of a head may stand
  /// for a thousand times as many (RFC 7541, section 2.3.2); all else is bounded by what comes.
  var isFull: Bool { used > Self.mostBytes || entries.count > Self.mostEntries }

  func deallocate() { block.deallocate() }

  mutating func began(_ slot: Int, _ stream: Int32) {
    entries.append(
      Entry(kind: .began, slot: Int32(truncatingIfNeeded: slot), number: UInt32(bitPattern: stream))
    )
  }

  mutating func field(
    _ slot: Int, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
  ) {
    entries.append(
      Entry(
        kind: .field, slot: Int32(truncatingIfNeeded: slot),
        number: UInt32(truncatingIfNeeded: name.count), start: used,
        count: name.count + value.count))
    append(name)
    append(value)
  }

  mutating func body(_ slot: Int, _ bytes: UnsafeBufferPointer<UInt8>) {
    entries.append(
      Entry(
        kind: .body, slot: Int32(truncatingIfNeeded: slot), start: used, count: bytes.count))
    append(bytes)
  }

  mutating func ended(_ slot: Int) {
    entries.append(Entry(kind: .ended, slot: Int32(truncatingIfNeeded: slot)))
  }

  mutating func closed(_ slot: Int, _ errorCode: UInt32) {
    entries.append(Entry(kind: .closed, slot: Int32(truncatingIfNeeded: slot), number: errorCode))
  }

  mutating func take() -> HTTP2Request? {
    guard next < entries.count else {
      forgetWhatWasHeard()
      return nil
    }
    let entry = entries[next]
    next += 1
    let slot = Int(entry.slot)
    let bytes = UnsafeRawBufferPointer(start: block + entry.start, count: entry.count)
    switch entry.kind {
    case .began: return .began(slot: slot, stream: Int32(bitPattern: entry.number))
    case .field:
      let nameCount = Int(entry.number)
      return .field(
        slot: slot, name: UnsafeRawBufferPointer(rebasing: bytes[..<nameCount]),
        value: UnsafeRawBufferPointer(rebasing: bytes[nameCount...]))
    case .body: return .body(slot: slot, bytes)
    case .ended: return .ended(slot: slot)
    case .closed: return .closed(slot: slot, errorCode: entry.number)
    }
  }

  private mutating func forgetWhatWasHeard() {
    entries.removeAll(keepingCapacity: entries.capacity <= Self.keptEntries)
    next = 0
    used = 0
    guard capacity > Self.keptBytes else { return }
    block.deallocate()
    capacity = Self.keptBytes
    block = .allocate(capacity: capacity)
  }

  private mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    if used + bytes.count > capacity { grow(used + bytes.count) }
    if let base = bytes.baseAddress { (block + used).update(from: base, count: bytes.count) }
    used += bytes.count
  }

  private mutating func grow(_ wanted: Int) {
    capacity = max(wanted, capacity * 2)
    let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    grown.update(from: block, count: used)
    block.deallocate()
    block = grown
  }
}
