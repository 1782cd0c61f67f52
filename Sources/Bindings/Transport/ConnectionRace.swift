import EventLoop
import Glibc

/// The addresses of one host, tried one after the other and side by side: the next begins when the
/// one before has failed, or was silent for a while, and who is connected first wins (RFC 8305,
/// section 5). Confined to its loop. Its connection's own deadline bounds it in time.
final class ConnectionRace {
  /// RFC 8305's Connection Attempt Delay.
  static let headStart: Duration = .milliseconds(250)

  enum Outcome {
    /// The descriptor is the receiver's from now on.
    case connected(Int32, SocketAddress)
    case failed(TransportError)
  }

  private let endpoint: Endpoint
  private let options: TransportOptions
  private let loop: EventLoop
  private let book: AddressBook?
  private var addresses: ArraySlice<SocketAddress>
  private var attempts: [ConnectionAttempt] = []
  /// Why the last of those that failed did; nil while none has.
  private(set) var failure: TransportError?
  private var timer: LoopTimer?
  private var whenOver: ((Outcome) -> Void)?

  /// - Parameter whenOver: called once, unless it is cancelled before.
  init(
    _ addresses: [SocketAddress], of endpoint: Endpoint, options: TransportOptions,
    book: AddressBook?, loop: EventLoop, whenOver: @escaping (Outcome) -> Void
  ) {
    self.addresses = addresses[...]
    self.endpoint = endpoint
    self.options = options
    self.book = book
    self.loop = loop
    self.whenOver = whenOver
  }

  /// Addresses that are asked and have not answered.
  var pending: Int { attempts.count }

  func start() { beginNext() }

  func cancel() {
    whenOver = nil
    end()
  }

  private func beginNext() {
    timer?.cancel()
    timer = nil
    while let address = addresses.popFirst() {
      guard let attempt = ConnectionAttempt(address, options, loop, race: self) else {
        noteFailure(of: address, errno)
        continue
      }
      attempts.append(attempt)
      if !addresses.isEmpty {
        timer = loop.schedule(after: Self.headStart) { [weak self] in self?.beginNext() }
      }
      return
    }
    guard attempts.isEmpty else { return }
    finish(.failed(failure ?? TransportError(.unreachable, "\(endpoint) has no address")))
  }

  fileprivate func connected(_ winner: ConnectionAttempt) {
    // Those that had a head start and are silent still are not asked first again.
    for attempt in attempts.prefix(while: { $0 !== winner }) {
      book?.failed(attempt.address, at: loop.now)
    }
    guard let descriptor = winner.handOver() else { return }
    attempts.removeAll { $0 === winner }
    finish(.connected(descriptor, winner.address))
  }

  fileprivate func failed(_ loser: ConnectionAttempt, _ number: Int32) {
    loser.close()
    attempts.removeAll { $0 === loser }
    noteFailure(of: loser.address, number)
    beginNext()
  }

  private func noteFailure(of address: SocketAddress, _ number: Int32) {
    // For want of descriptors or memory of ours, no address is to blame.
    guard ![EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(number) else {
      failure = .system(.noDescriptors, "\(endpoint) was not asked", number)
      return
    }
    book?.failed(address, at: loop.now)
    failure = .system(.unreachable, "\(endpoint) cannot be reached", number)
  }

  private func finish(_ outcome: Outcome) {
    let whenOver = whenOver
    self.whenOver = nil
    end()
    whenOver?(outcome)
  }

  private func end() {
    timer?.cancel()
    timer = nil
    addresses = []
    for attempt in attempts { attempt.close() }
    attempts = []
  }
}

/// One address of a race, which the loop keeps alive while it is watched.
private final class ConnectionAttempt: LoopHandler {
  let address: SocketAddress
  private let loop: EventLoop
  private let race: ConnectionRace
  private var descriptor: Int32
  private var registration: Registration?

  /// Nil and errno when it fails at once.
  init?(
    _ address: SocketAddress, _ options: TransportOptions, _ loop: EventLoop, race: ConnectionRace
  ) {
    guard let descriptor = address.connect(options) else { return nil }
    self.address = address
    self.loop = loop
    self.race = race
    self.descriptor = descriptor
    do {
      registration = try loop.add(descriptor, [.write], self)
    } catch {
      Glibc.close(descriptor)
      self.descriptor = -1
      errno = EMFILE
      return nil
    }
  }

  deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

  func descriptorReady(_ readiness: Interest) {
    guard descriptor >= 0 else { return }
    let failure = Socket.pendingError(descriptor)
    if failure == 0 { race.connected(self) } else { race.failed(self, failure) }
  }

  /// The descriptor, which is no longer watched; nil: it was closed before.
  func handOver() -> Int32? {
    guard descriptor >= 0 else { return nil }
    stopWatching()
    defer { descriptor = -1 }
    return descriptor
  }

  func close() {
    guard descriptor >= 0 else { return }
    stopWatching()
    Glibc.close(descriptor)
    descriptor = -1
  }

  private func stopWatching() {
    if let registration { loop.remove(registration) }
    registration = nil
  }
}
