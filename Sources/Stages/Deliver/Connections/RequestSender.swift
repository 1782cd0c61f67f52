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

  /// How many more pushes can be sent now: the connection's own bound, the server's streams, room
  /// in the connection's flow-control window (about 280 bodies in 64 KiB) and in the
  /// socket.
  func capacity(_ session: HTTP2ClientSession, _ transport: Connection) -> Int {
    let window = session.remoteConnectionWindow - unwrittenBodyBytes
    guard window > 0, transport.pendingBytes < Self.outputLimit else { return 0 }
    return max(0, streams(session) - slots.inFlight)
  }

  /// How many may be in flight at a time: the connection's own bound, and the server's.
  func streams(_ session: HTTP2ClientSession) -> Int {
    min(slots.capacity, session.remoteMaxConcurrentStreams)
  }

  func hasWindow(_ session: HTTP2ClientSession) -> Bool {
    session.remoteConnectionWindow > unwrittenBodyBytes
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
    _ run: ReadyRun, headers: SharedHeaders, isProbe: Bool, on session: HTTP2ClientSession,
    now: UInt64
  ) -> (sent: Int, end: End) {
    guard let fields = writer.fields(sharing: headers) else { return (0, .refusedHeaders) }
    let batch = run.first.batch
    let bytes = batch.bytes
    let window = session.remoteConnectionWindow
    var unwritten = unwrittenBodyBytes
    var item = run.item(headers, isProbe: isProbe, at: now)
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

  /// Hands to the transport what was sent, and what nghttp2 has to say besides.
  func write(_ session: HTTP2ClientSession, to transport: Connection) throws(HTTP2Error) {
    var room = Self.outputLimit - transport.pendingBytes
    while room > 0 {
      guard let bytes = try session.nextOutput() else {
        unwrittenBodyBytes = 0
        break
      }
      transport.write(bytes)
      room -= bytes.count
    }
  }
}
