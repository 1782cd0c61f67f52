import EventLoop
import Transport

/// A virtual address: carries bytes between its clients and the port that it leads to now. Those
/// that are connected stay where they are when it is turned.
package final class TestProxy: Sendable {
  /// Called on the proxy's loop with what passes, before it goes on: the number of the connection,
  /// from 1, and whether the client says it.
  package typealias Witness =
    @Sendable (_ connection: Int, _ isOfClient: Bool, UnsafeRawBufferPointer) -> Void

  /// Called on the proxy's loop with what the server says: what the client gets in its place.
  package typealias Rewriter = @Sendable ([UInt8]) -> [UInt8]

  package let port: Int
  private let loop = EventLoop(name: "proxy")
  private let pairs: Pairs

  package init(
    to target: Int, witness: @escaping Witness = { _, _, _ in }, rewriter: Rewriter? = nil
  ) async throws {
    let loop = loop
    pairs = try await LoopActor(loop).run { _ in try Pairs(target, loop, rewriter, witness) }
    port = await LoopActor(loop).run { [pairs] _ in pairs.port }
  }

  deinit { loop.stop() }

  package func turn(to port: Int) async { await run { $0.target = port } }
  /// Nothing is carried any more, and nothing is closed: a cable that was pulled.
  package func setSilent() async { await run { $0.isSilent = true } }
  /// A new cable for those that come; the old ones stay dead.
  package func mend() async { await run { $0.mend() } }
  package func accepted() async -> Int { await run { $0.accepted } }
  package func close() async { await run { $0.close() } }

  private func run<T: Sendable>(_ body: @Sendable (Pairs) -> T) async -> T {
    await LoopActor(loop).run { [pairs] _ in body(pairs) }
  }
}

/// Unchecked: confined to the proxy's loop, of which `TestProxy` takes care.
private final class Pairs: @unchecked Sendable {
  private let loop: EventLoop
  private let rewriter: TestProxy.Rewriter?
  private let witness: TestProxy.Witness
  private var listener: Listener?
  private var pairs: [Pair] = []
  var target: Int
  var isSilent = false
  private(set) var accepted = 0

  init(
    _ target: Int, _ loop: EventLoop, _ rewriter: TestProxy.Rewriter?,
    _ witness: @escaping TestProxy.Witness
  ) throws {
    self.rewriter = rewriter
    self.target = target
    self.loop = loop
    self.witness = witness
    listener = try Listener(host: "127.0.0.1", port: 0, tls: nil, loop: loop) { [weak self] in
      guard let self else { return nil }
      accepted += 1
      let pair = Pair($0, number: accepted, self)
      pairs.append(pair)
      return pair
    }
  }

  var port: Int { listener?.port ?? 0 }

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
    private let client: Connection
    private let number: Int
    private unowned let all: Pairs
    private var server: Connection?
    /// Stays silent when the proxy speaks again.
    var isDead = false

    init(_ client: Connection, number: Int, _ all: Pairs) {
      self.client = client
      self.number = number
      self.all = all
      server = Connection(
        to: Endpoint(host: "127.0.0.1", port: all.target), tls: nil, options: TransportOptions(),
        loop: all.loop, delegate: self)
      server?.connect()
    }

    func close() {
      client.close()
      server?.close()
    }

    func connectionOpened(_ connection: Connection) {}
    func connectionDrained(_ connection: Connection) {}

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
      guard !isDead, !all.isSilent else { return }
      all.witness(number, connection === client, bytes)
      guard connection !== client else {
        server?.write(bytes)
        return
      }
      guard let rewriter = all.rewriter else { return client.write(bytes) }
      rewriter(Array(bytes)).withUnsafeBytes { client.write($0) }
    }

    func connectionClosed(_ connection: Connection, error: TransportError?) {
      guard !isDead, !all.isSilent else { return }
      close()
    }
  }
}
