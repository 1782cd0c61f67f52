import HTTP2
import Model
import Transport

/// Writes pushes as requests of one connection, each into a slot of its own.
package final class RequestSender {
  /// Bytes for the socket beyond which no more frames are made: about 200 pushes.
  private static let outputLimit = 128 * 1024

  private let slots: StreamSlots
  private let writer: any RequestWriter
  private var unwrittenBodyBytes = 0

  init(slots: StreamSlots, writer: any RequestWriter) {
    self.slots = slots
    self.writer = writer
  }

  /// How many more pushes can be sent now: the connection's own bound, the server's streams, its
  /// flow-control window (about 280 bodies in 64 KiB) and the socket.
  func capacity(_ session: HTTP2ClientSession, _ transport: Connection) -> Int {
    let window = session.remoteConnectionWindow - unwrittenBodyBytes
    guard window > 0, transport.pendingBytes < Self.outputLimit else { return 0 }
    return max(0, streams(session) - slots.inFlight)
  }

  /// How many may be in flight at a time: the connection's own bound, and the server's.
  func streams(_ session: HTTP2ClientSession) -> Int {
    min(slots.capacity, session.remoteMaxConcurrentStreams)
  }

  /// Why it took no more of a run.
  package enum End {
    case allSent
    /// No stream or no window is left.
    case full
    /// The next push has bytes in a header that must not be there.
    case refusedHeaders
    /// Its stream identifiers are used up, after a thousand million pushes: retire it.
    case usedUp(reason: String)
  }

  /// Hands pushes to nghttp2, as many as it takes.
  func send(
    _ run: ReadyRun, headers: SharedHeaders, isCredentialCheck: Bool,
    on session: HTTP2ClientSession,
    now: UInt64
  ) -> (sent: Int, end: End) {
    guard let fields = writer.fields(sharing: headers) else { return (0, .refusedHeaders) }
    let batch = run.first.batch
    let bytes = batch.bytes
    let window = session.remoteConnectionWindow
    var unwritten = unwrittenBodyBytes
    var item = run.item(headers, isCredentialCheck: isCredentialCheck, at: now)
    var sent = 0
    var end = End.allSent
    while sent < run.count {
      guard unwritten < window, let slot = slots.next else {
        end = .full
        break
      }
      let entry = batch[item.push.index]
      guard let body = writer.fill(fields, for: entry, in: bytes, slot: slot) else {
        end = .refusedHeaders
        break
      }
      do {
        item.stream = try session.submit(fields, body: body, slot: slot)
      } catch {
        end = .usedUp(reason: "\(error)")
        break
      }
      slots.fill(slot, item)
      unwritten += body.count
      item.push.index += 1
      sent += 1
    }
    unwrittenBodyBytes = unwritten
    return (sent, end)
  }

  /// Hands to the transport all that was sent, and other frames of nghttp2's.
  func write(_ session: HTTP2ClientSession, to transport: Connection) throws(HTTP2Error) {
    var left = Self.outputLimit - transport.pendingBytes
    while left > 0 {
      guard let bytes = try session.nextOutput() else {
        unwrittenBodyBytes = 0
        break
      }
      transport.write(bytes)
      left -= bytes.count
    }
  }
}

/// The pushes in flight on one connection: a fixed table, so that sending allocates nothing. A
/// slot's number travels with its stream.
package final class StreamSlots {
  package struct Slot {
    package var push: ReadyPush
    /// Keeps the bytes that nghttp2 borrows, and says which credential an answer is about.
    var headers: SharedHeaders
    package let sentAt: UInt64
    var stream: Int32
    var isReset = false
  }

  let capacity: Int
  private(set) var inFlight = 0
  /// Where the numbers of the slots in use come first.
  private let order: UnsafeMutablePointer<Int32>
  private let slots: UnsafeMutablePointer<Slot?>

  init(capacity: Int) {
    self.capacity = capacity
    order = .allocate(capacity: capacity)
    for slot in 0..<capacity { (order + slot).initialize(to: Int32(slot)) }
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: nil, count: capacity)
  }

  deinit {
    order.deallocate()
    slots.deinitialize(count: capacity)
    slots.deallocate()
  }

  /// The slot that is filled next; nil when all are taken.
  var next: Int? { inFlight < capacity ? Int(order[inFlight]) : nil }

  /// - Parameter slot: the `next`.
  func fill(_ slot: Int, _ item: Slot) {
    assert(slot == next && slots[slot] == nil, "a slot is filled once")
    slots[slot] = item
    inFlight += 1
  }

  /// Frees a slot; nil when it is not taken.
  func empty(_ slot: Int) -> Slot? {
    guard let item = slots[slot].take() else { return nil }
    inFlight -= 1
    order[inFlight] = Int32(truncatingIfNeeded: slot)
    return item
  }

  subscript(slot: Int) -> Slot? { slots[slot] }

  func setReset(_ slot: Int) { slots[slot]?.isReset = true }

  var occupied: [Int] { (0..<capacity).filter { slots[$0] != nil } }
}
