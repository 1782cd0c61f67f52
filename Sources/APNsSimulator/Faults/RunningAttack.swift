import Transport

/// What of an attack a client has got.
struct RunningAttack {
  private let attack: Attack
  private let stream: Int32
  private var bytes = 0
  private var hasBegun = false

  init(_ attack: Attack, stream: Int32) {
    self.attack = attack
    self.stream = stream
  }

  /// Writes more of it while the socket takes it.
  /// - Parameter limit: bytes that wait for the socket at most, but for what comes first.
  mutating func goOn(_ transport: Connection, upTo limit: Int) {
    if !hasBegun {
      hasBegun = true
      write(attack.opening(stream: stream), to: transport)
    }
    while transport.pendingBytes < limit, bytes < Attack.longest,
      let more = attack.more(stream: stream)
    {
      write(more, to: transport)
    }
  }

  private mutating func write(_ more: [UInt8], to transport: Connection) {
    bytes += more.count
    more.withUnsafeBytes { transport.write($0) }
  }
}
