import Fixtures
import Threads

/// A Redis that is reached through a witness, who writes down what is asked: a turn is what goes
/// out before the next answer comes back, so the turns of a connection are its serial round trips.
package final class TurnsBed: Sendable {
  private struct Turns {
    var all: [String] = []
    /// By the number of the connection: the place of its turn that no answer has ended.
    var current: [Int: Int] = [:]
  }

  private let turns: ThreadLock<Turns>
  private let proxy: TestProxy

  package var port: Int { proxy.port }

  package init(to redis: Int) async throws {
    let turns = ThreadLock(Turns())
    self.turns = turns
    proxy = try await TestProxy(to: redis) { connection, isOfClient, bytes in
      turns.withLock { turns in
        guard isOfClient else {
          turns.current[connection] = nil
          return
        }
        let text = String(decoding: bytes, as: UTF8.self)
        if let place = turns.current[connection] {
          turns.all[place] += text
        } else {
          turns.current[connection] = turns.all.count
          turns.all.append(text)
        }
      }
    }
  }

  package func close() async { await proxy.close() }

  /// What was asked since the start, of turns that have one of these words in them. Whether
  /// somebody has stopped a fan-out is asked every second, and what an event has to say to the
  /// statistics soon after it began: nobody waits for either.
  package func turns(naming words: [String], of event: String = "e1") -> [String] {
    let key = "ff:{e:\(event)}:sums"
    let sums = "*2\r\n$7\r\nHGETALL\r\n$\(key.utf8.count)\r\n\(key)\r\n"
    return turns.withLock { $0.all }.map { $0.replacing(sums, with: "") }.filter { turn in
      words.contains { turn.contains($0) }
        && !(turn.hasPrefix("*3\r\n$4\r\nHGET\r\n") && turn.contains("\r\nhalt\r\n"))
    }
  }
}
