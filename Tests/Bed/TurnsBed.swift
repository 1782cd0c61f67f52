import EventLoop
import Threads
import Transport

/// A Redis that is reached through a witness, who writes down what is asked: a turn is what goes
/// out before the next answer comes back, so the turns of a connection are its serial round trips.
package final class TurnsBed: Sendable {
  package let port: Int
  private let loop = EventLoop(name: "witness")
  private let turns: ThreadLock<[String]>
  private let witness: Witness

  package init(to redis: Int) async throws {
    let loop = loop
    let turns = ThreadLock<[String]>([])
    self.turns = turns
    witness = try await LoopActor(loop).run { _ in try Witness(redis, loop, turns) }
    port = await LoopActor(loop).run { [witness] _ in witness.port }
  }

  deinit { loop.stop() }

  package func close() async { await LoopActor(loop).run { [witness] _ in witness.close() } }

  /// What was asked since the start, of turns that have one of these words in them.
  package func turns(naming words: [String]) -> [String] {
    turns.withLock { $0 }.filter { turn in words.contains { turn.contains($0) } }
  }
}

/// Confined to its loop.
private final class Witness: @unchecked Sendable {
  private var listener: Listener?
  private var pairs: [Pair] = []

  init(_ target: Int, _ loop: EventLoop, _ turns: ThreadLock<[String]>) throws {
    listener = try Listener(host: "127.0.0.1", port: 0, tls: nil, loop: loop) { [weak self] in
      let pair = Pair($0, to: target, loop, turns)
      self?.pairs.append(pair)
      return pair
    }
  }

  var port: Int { listener?.port ?? 0 }

  func close() {
    listener?.close()
    for pair in pairs { pair.close() }
    pairs = []
  }

  private final class Pair: ConnectionDelegate {
    private let client: Connection
    private var server: Connection?
    private let turns: ThreadLock<[String]>
    /// Of the turn that no answer has ended.
    private var current: Int?

    init(_ client: Connection, to port: Int, _ loop: EventLoop, _ turns: ThreadLock<[String]>) {
      self.client = client
      self.turns = turns
      server = Connection(
        to: Endpoint(host: "127.0.0.1", port: port), tls: nil, options: TransportOptions(),
        loop: loop, delegate: self)
      server?.connect()
    }

    func close() {
      client.close()
      server?.close()
    }

    func connectionOpened(_ connection: Connection) {}
    func connectionDrained(_ connection: Connection) {}
    func connectionClosed(_ connection: Connection, error: TransportError?) { close() }

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
      guard connection === client else {
        current = nil
        client.write(bytes)
        return
      }
      let text = String(decoding: bytes, as: UTF8.self)
      current = turns.withLock { turns in
        guard let current else {
          turns.append(text)
          return turns.count - 1
        }
        turns[current] += text
        return current
      }
      server?.write(bytes)
    }
  }
}
