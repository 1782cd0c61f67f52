import EventLoop
import Glibc
import Transport

/// One end of a connection of a world.
final class MemorySocket: StreamSocket {
  let loop: EventLoop
  private let way: MemoryNetwork.Way
  private let network: MemoryNetwork
  /// Nil when the other end is gone; whoever goes says so. A weak reference would make each retain
  /// of a socket cost several times as much.
  unowned(unsafe) var peer: MemorySocket?

  /// What has come and was not taken.
  private var received: [UInt8] = []
  /// What was sent and has not come, in order, and when it is due.
  private var underWay: [(bytes: [UInt8], due: UInt64)] = []
  private var bytesUnderWay = 0
  private var hasPeerFinished = false
  private var hasFinished = false
  private var failure: Int32?
  private(set) var isClosed = false
  /// Nothing of what is sent arrives.
  var isSilent = false

  private var handler: (any LoopHandler)?
  private var interest: Interest = []
  private var isTellDue = false

  /// What is not acknowledged for so long breaks the connection (TCP_USER_TIMEOUT).
  private static let userTimeout: Duration = .seconds(20)

  init(loop: EventLoop, endpoint: Endpoint, network: MemoryNetwork) {
    self.loop = loop
    way = network.way(to: endpoint)
    self.network = network
  }

  deinit { peer?.peer = nil }

  private var scheduler: WorldScheduler { network.scheduler }

  // MARK: StreamSocket

  func receive(into buffer: UnsafeMutableRawBufferPointer) -> SocketResult {
    if !received.isEmpty {
      let count = min(received.count, buffer.count)
      received.withUnsafeBytes {
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count]))
      }
      if count == received.count { received = [] } else { received.removeFirst(count) }
      // There is space again for the other side.
      peer?.tell()
      return .bytes(count)
    }
    if let failure { return .failed(failure) }
    return hasPeerFinished ? .bytes(0) : .wouldBlock
  }

  func send(_ bytes: UnsafeRawBufferPointer) -> SocketResult {
    if let failure { return .failed(failure) }
    guard !hasFinished else { return .failed(EPIPE) }
    let space = space
    guard space > 0 else { return .wouldBlock }
    let count = min(space, bytes.count)
    var rest = bytes[..<count]
    let piece = max(1, way.path.largestPiece)
    while !rest.isEmpty {
      post(Array(rest.prefix(piece)))
      rest = rest.dropFirst(piece)
    }
    return .bytes(count)
  }

  /// What the peer has not taken counts.
  private var space: Int { way.path.capacity - bytesUnderWay - (peer?.received.count ?? 0) }

  func finishWriting() {
    guard !hasFinished else { return }
    hasFinished = true
    // Behind all that was sent.
    post([])
  }

  var unacknowledgedBytes: UInt64? { UInt64(bytesUnderWay) }

  func watch(_ interest: Interest, _ handler: any LoopHandler) throws(LoopError) {
    self.handler = handler
    self.interest = interest
    tell()
  }

  func change(to interest: Interest) {
    self.interest = interest
    tell()
  }

  func close() {
    guard !isClosed else { return }
    // As the kernel does: whoever closes on unread bytes breaks the connection.
    if received.isEmpty, failure == nil { finishWriting() } else { peer?.reset() }
    abandon()
  }

  /// The peer's end is closed: this side hears of it behind all that the peer has sent.
  private func reset() {
    let delay = network.delay(on: way)
    let last = peer?.underWay.last?.due ?? 0
    let rest = last > scheduler.now ? last - scheduler.now : 0
    fail(ECONNRESET, after: max(delay, .nanoseconds(Int64(rest))))
  }

  /// As `close`, of a process that is dead.
  func abandon() {
    isClosed = true
    handler = nil
    received = []
  }

  // MARK: on the way

  private func post(_ bytes: [UInt8]) {
    let soonest = scheduler.now &+ network.nanoseconds(on: way)
    let due = max(soonest, underWay.last?.due ?? 0)
    underWay.append((bytes, due))
    bytesUnderWay += bytes.count
    scheduler.schedule(at: due) { [self] in deliver() }
  }

  /// Delivers what is due, unless the path is silent.
  func deliver() {
    guard failure == nil else { return }
    guard !way.path.isSilent, !isSilent else { return watchSilence() }
    while let first = underWay.first, first.due <= scheduler.now {
      underWay.removeFirst()
      bytesUnderWay -= first.bytes.count
      arrive(first.bytes)
    }
    // Acknowledged: there may be space.
    tell()
  }

  private func arrive(_ bytes: [UInt8]) {
    guard let peer, !peer.isClosed else {
      // Nobody reads this any more.
      if !bytes.isEmpty { reset() }
      return
    }
    if bytes.isEmpty {
      peer.hasPeerFinished = true
    } else if peer.received.isEmpty {
      peer.received = bytes
    } else {
      peer.received += bytes
    }
    peer.tell()
  }

  private func watchSilence() {
    guard let oldest = underWay.first?.due else { return }
    scheduler.schedule(after: Self.userTimeout) { [self] in
      if underWay.first?.due == oldest { fail(ETIMEDOUT, after: .zero) }
    }
  }

  /// The connection breaks for this side when the time has come.
  func fail(_ number: Int32, after delay: Duration) {
    scheduler.schedule(after: delay) { [self] in
      guard failure == nil, !isClosed else { return }
      failure = number
      underWay = []
      bytesUnderWay = 0
      tell()
    }
  }

  func breakBoth(_ number: Int32) {
    fail(number, after: network.delay(on: way))
    peer?.fail(number, after: network.delay(on: way))
  }

  // MARK: readiness

  private var readiness: Interest {
    if failure != nil || (hasPeerFinished && hasFinished) { return [.read, .write] }
    var ready: Interest = []
    if interest.contains(.read), !received.isEmpty || hasPeerFinished { ready.insert(.read) }
    if interest.contains(.write), space > 0 { ready.insert(.write) }
    return ready
  }

  /// Level-triggered: again and again, as long as there is something.
  fileprivate func tell() {
    guard !isTellDue, handler != nil, !readiness.isEmpty else { return }
    isTellDue = true
    onLoop(loop) { [self] in
      isTellDue = false
      let ready = readiness
      guard let handler, !ready.isEmpty else { return }
      handler.descriptorReady(ready)
      tell()
    }
  }
}
