import Model
import Pipeline
import Processes
import Testing
import World

/// What a whole deployment does in virtual time.
@Suite struct WorldTests {
  private static func live<T>(_ seed: UInt64, _ body: (World) throws -> T) throws -> T {
    let directory = try ScratchDirectory()
    return try World(seed: seed, directory: directory.path).live(body)
  }

  private static func tokens(_ count: Int) -> [String] {
    (0..<count).map { index in
      let digits = String(index, radix: 16)
      return String(repeating: "0", count: 64 - digits.utf8.count) + digits
    }
  }

  @Test(arguments: 1...10 as ClosedRange<UInt64>) func everyFollowerIsToldOnce(seed: UInt64) throws
  {
    try Self.live(seed) { world in
      world.follow("s1", tokens: Self.tokens(20))
      _ = try world.startWorker("worker-1")
      world.emit("e1", streamer: "s1")
      var status = world.status(of: "e1")
      let began = world.scheduler.now
      while status?.state != .done, world.scheduler.now - began < 60_000_000_000 {
        world.run(atMost: .milliseconds(200)) { false }
        status = world.status(of: "e1")
      }
      #expect(status?.state == .done && status?.accepted == 20, "\(String(describing: status))")
    }
  }

  /// Everything follows from the seed.
  @Test func theSameSeedGivesTheSameLife() throws {
    func trace(_ seed: UInt64) throws -> (lines: [String], steps: Int, time: UInt64) {
      try Self.live(seed) { world in
        world.follow("s1", tokens: Self.tokens(50))
        _ = try world.startWorker("worker-1", lanes: 2)
        _ = try world.startWorker("worker-2", lanes: 2)
        world.emit("e1", streamer: "s1")
        world.run(atMost: .seconds(20)) { false }
        return (world.lines.lines, world.scheduler.steps, world.scheduler.now)
      }
    }
    let (first, second, other) = (try trace(7), try trace(7), try trace(8))
    #expect(first.steps == second.steps && first.time == second.time)
    #expect(first.lines == second.lines)
    #expect(first.steps != other.steps)
  }

  /// Many worlds, one after the other, take no more memory than one.
  @Test func nothingIsLeftOfAWorldThatHasEnded() throws {
    weak var world: World?
    weak var killed: Worker?
    weak var running: Worker?
    try Self.live(1) { live in
      defer { live.end() }
      world = live
      live.follow("s1", tokens: Self.tokens(40))
      let (first, second) = (try live.startWorker("worker-1"), try live.startWorker("worker-2"))
      (killed, running) = (first.worker, second.worker)
      live.run(atMost: .seconds(15)) { false }
      live.emit("e1", streamer: "s1")
      live.run(atMost: .milliseconds(5)) { false }
      first.kill()
      live.run(atMost: .seconds(1)) { false }
    }
    #expect(world == nil && killed == nil && running == nil)
  }

  /// The other worker does what the dead one had begun: nobody is left out.
  @Test(arguments: 1...10 as ClosedRange<UInt64>)
  func nothingIsLostWithAWorker(seed: UInt64) throws {
    try Self.live(seed) { world in
      world.follow("s1", tokens: Self.tokens(40))
      let first = try world.startWorker("worker-1")
      _ = try world.startWorker("worker-2")
      world.run(atMost: .seconds(15)) { false }
      world.emit("e1", streamer: "s1")
      world.run(atMost: .milliseconds(Int64(world.scheduler.number(below: 40)))) { false }
      first.kill()
      var status = world.status(of: "e1")
      let began = world.scheduler.now
      while status?.state != .done, world.scheduler.now - began < 120_000_000_000 {
        world.run(atMost: .seconds(1)) { false }
        status = world.status(of: "e1")
      }
      #expect(status?.state == .done && status?.accepted == 40, "\(String(describing: status))")
    }
  }
}
