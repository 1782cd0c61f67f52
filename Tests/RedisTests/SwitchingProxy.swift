import EventLoop
import Transport

/// A virtual address: carries bytes between its clients and the port that it leads to now. Those
/// that are connected stay where they are when it is turned. Confined to its loop.
final class SwitchingProxy {
  private var listener: Listener?
  private var pairs: [Pair] = []
  private let loop: EventLoop
  /// Where the next connections lead.
  var target: Int
  /// Nothing is carried any more, and nothing is closed: a cable that was pulled.
  var isSilent = false
  private(set) var accepted = 0

  init(to target: Int, loop: EventLoop) throws {
    self.target = target
    self.loop = loop
    listener = try Listener(host: "127.0.0.1", port: 0, tls: nil, loop: loop) { [weak self] in
      guard let self else { return nil }
      accepted += 1
      // Those that are connected stay silent when the proxy speaks again.
      let pair = Pair($0, to: self.target, self)
      pairs.append(pair)
      return pair
    }
  }

  var port: Int { listener?.port ?? 0 }

  /// A new cable for those that come; the old ones stay dead.
  func mend() {
    for pair in pairs { pair.isDead = true }
    isSilent = false
  }

  func close() {
    listener?.close()
    for pair in pairs { pair.close() }
    pairs = []
  }

  private final class Pair: ConnectionDelegate {
    let client: Connection
    private var server: Connection?
    private unowned let proxy: SwitchingProxy
    var isDead = false

    init(_ client: Connection, to port: Int, _ proxy: SwitchingProxy) {
      self.client = client
      self.proxy = proxy
      server = Connection(
        to: Endpoint(host: "127.0.0.1", port: port), tls: nil, options: TransportOptions(),
        loop: proxy.loop, delegate: self)
      server?.connect()
    }

    func close() {
      client.close()
      server?.close()
    }

    func connectionOpened(_ connection: Connection) {}
    func connectionDrained(_ connection: Connection) {}
    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
      guard !isDead, !proxy.isSilent else { return }
      (connection === client ? server : client)?.write(bytes)
    }
    func connectionClosed(_ connection: Connection, error: TransportError?) {
      guard !isDead, !proxy.isSilent else { return }
      close()
    }
  }
}

/// A proxy's home: it is looked at on its loop only.
struct ProxyOnLoop: @unchecked Sendable {
  let value: SwitchingProxy
  let loop: EventLoop

  func turn(to port: Int) async { await LoopActor(loop).run { _ in value.target = port } }
  func setSilent() async { await LoopActor(loop).run { _ in value.isSilent = true } }
  func mend() async { await LoopActor(loop).run { _ in value.mend() } }
  func accepted() async -> Int { await LoopActor(loop).run { _ in value.accepted } }
}

func withProxy(
  to port: Int, _ body: @Sendable (Int, ProxyOnLoop) async throws -> Void
) async throws {
  let loop = EventLoop(name: "proxy")
  defer { loop.stop() }
  let proxy = try await LoopActor(loop).run { _ in
    ProxyOnLoop(value: try SwitchingProxy(to: port, loop: loop), loop: loop)
  }
  let own = await LoopActor(loop).run { _ in proxy.value.port }
  let result = await Result { try await body(own, proxy) }
  await LoopActor(loop).run { _ in proxy.value.close() }
  try result.get()
}
