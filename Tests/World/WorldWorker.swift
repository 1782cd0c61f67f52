import EventLoop
import Kafka
import MemoryKafka
import Pipeline
import Telemetry

/// A worker's process: its loops, its connections and its member of the group live and die with it.
///
/// Unchecked: confined to its world's thread.
package final class WorldWorker: @unchecked Sendable {
  package let name: String
  private let world: World
  package let host: MemoryHost
  package let worker: Worker
  private let loops: WorldLoops
  private let clock: WorldClock
  /// The part of a lane's memory budget that is for batches, in bytes.
  package let batchBudget: Int
  package private(set) var isDead = false
  /// Kills it; nil when no kill waits for its turn.
  private var killPending: (() -> Void)?
  package private(set) var hasStopped = false
  /// Whether it had nothing left when it stopped.
  package private(set) var hasDoneEverything = false
  private var hasBeenToldToStop = false

  init(
    _ name: String, _ host: MemoryHost, _ clock: WorldClock, _ world: World,
    options: PipelineOptions,
    _ change: (inout PipelineOptions) -> Void
  ) throws {
    self.name = name
    self.host = host
    self.clock = clock
    self.world = world
    let loops = WorldLoops(world.scheduler)
    self.loops = loops
    var options = options
    options.makeLoop = { loops.make("\(name) \($0)") }
    let wallClock = options.wallClock
    options.wallClock = { wallClock() + clock.ahead }
    host.wallClock = options.wallClock
    change(&options)
    batchBudget = options.memoryBudget.lane.first { $0.name == "batches" }?.bytes ?? 0
    worker = try Worker(options: options)
  }

  func start() {
    let worker = worker
    onLoop(loops.make("\(name) main")) { Task { try await worker.start() } }
  }

  /// What the batches of one of its lanes have taken at most; nil where nothing of it runs.
  package func mostBatchBytes() -> Int? {
    guard !isDead, !hasBeenToldToStop else { return nil }
    let worker = worker
    return world.perform { _, _ in await worker.mostBatchBytes() }
  }

  /// What it has counted, also when it is dead.
  package var counts: WorkerSnapshot { worker.counters.snapshot() }

  /// What it measures, by series: `fanfare_pushes_total{outcome="accepted"}`; none when nothing of
  /// it runs.
  func metrics() -> [String: Double] {
    guard !isDead, !hasBeenToldToStop || !hasStopped else { return [:] }
    let worker = worker
    let text = world.perform { _, _ in await worker.metrics().text } ?? ""
    var series: [String: Double] = [:]
    for line in text.utf8.split(separator: UInt8(ascii: "\n"))
    where line.first != UInt8(ascii: "#") {
      guard let blank = line.lastIndex(of: UInt8(ascii: " ")) else { continue }
      series[String(Substring(line[..<blank]))] = Double(
        Substring(line[line.index(after: blank)...]))
    }
    return series
  }

  /// SIGTERM.
  package func stop() {
    hasBeenToldToStop = true
    onLoop(loops.all[0]) { [self] in
      Task {
        hasDoneEverything = await worker.stop()
        hasStopped = true
      }
    }
  }

  /// How far the clock of its machine is ahead, in ms.
  package var clockAhead: Int64 {
    get { clock.ahead }
    set { clock.ahead = newValue }
  }

  package var isAlive: Bool { !isDead && !hasStopped }

  /// SIGKILL: nothing of it runs any more, and the kernel closes its connections.
  package func kill() {
    killPending = nil
    isDead = true
    world.scheduler.kill(loops.all)
    world.network.closeAll(of: loops.all)
    host.crash()
  }

  /// The same, when its loops have had so many turns more.
  package func kill(afterTurns turns: Int, whenKilled: @escaping () -> Void) {
    let kill = { [self] in
      guard isAlive else { return }
      whenKilled()
      self.kill()
    }
    killPending = kill
    world.scheduler.after(turns: turns, of: loops.all, kill)
  }

  /// Nobody waits any longer for the turn in which it is to be killed.
  package func killIfPending() { killPending?() }

  /// For the end of its world: what waits in it gets an error, and lets go of it.
  func endAfterDeath() {
    world.scheduler.release(loops.all)
    stop()
  }

  /// SIGSTOP, and SIGCONT after so long.
  package func freeze(for duration: Duration) {
    world.scheduler.hold(loops.all, until: world.scheduler.now &+ duration.nanoseconds)
    host.freeze()
    world.scheduler.schedule(after: duration) { [host] in host.thaw() }
  }
}

/// Unchecked: confined to its world's thread.
final class WorldClock: @unchecked Sendable { var ahead: Int64 = 0 }

/// The loops of a process, in the order in which they were made.
final class WorldLoops: @unchecked Sendable {
  private let scheduler: WorldScheduler
  private(set) var all: [EventLoop] = []

  init(_ scheduler: WorldScheduler) { self.scheduler = scheduler }

  func make(_ name: String) -> EventLoop {
    let loop = scheduler.makeLoop(name)
    all.append(loop)
    return loop
  }
}
