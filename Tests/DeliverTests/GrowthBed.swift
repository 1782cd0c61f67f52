import EventLoop
import Model
import Testing

@testable import Deliver

/// A route that grows as soon as it is looked at, and shrinks if it is to, which its test does
/// itself, and nobody else unless it is configured.
struct GrowthBed {
  let bed: DeliverBed
  let route: Route
  var server: FakeServer { bed.server }

  init(
    _ loop: EventLoop, least: Int = 1, most: Int = 3, shrinks: Bool = false,
    configure: (inout DeliverOptions) -> Void = { _ in }
  ) throws {
    bed = try DeliverBed(loop) {
      $0.connectionsPerRoute = least
      $0.mostConnectionsPerRoute = most
      $0.streamsPerConnection = 10
      $0.growAfter = .zero
      $0.shrinkAfter = shrinks ? .zero : .seconds(3_600)
      $0.tickInterval = .seconds(3_600)
      configure(&$0)
    }
    bed.server.delay = .milliseconds(5)
    route = try #require(bed.stage.routes[.production])
  }

  var wanted: Int { route.pool.slots.growth.wanted }
  var open: Int { route.figures.openConnections }

  /// Sends until it holds, with a look at the route after each batch.
  func load(
    _ what: Comment, atMost most: Int = 100_000, until condition: () -> Bool
  ) async {
    let before = bed.tally.pushes
    while !condition(), bed.tally.pushes - before < most {
      let first = 4096 + bed.tally.pushes
      let tokens = (first..<first + 50).map { "00" + String($0, radix: 16) }
      await bed.stage.admit(bed.batch(tokens))
      let behind = bed.tally.pushes - 100
      await bed.until("it goes on") { bed.tally.settled >= behind }
      route.tick()
    }
    #expect(condition(), what)
  }

  func grow(to connections: Int) async {
    await load("\(connections) connections") { open == connections }
  }

  /// All are accepted, each once.
  func settle() async {
    await bed.until("all are accepted") { bed.tally.accepted == bed.tally.pushes }
    #expect(Set(server.requests.map(\.token)).count == bed.tally.pushes)
    #expect(server.requests.count == bed.tally.pushes)
  }

  /// How many connections it was said to have, one after the other.
  var sizes: [Int] {
    bed.notices.all.withLock { notices in
      notices.compactMap {
        if case .resized(_, let connections) = $0 { connections } else { nil }
      }
    }
  }
}
