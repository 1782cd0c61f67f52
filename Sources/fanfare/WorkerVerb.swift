import Assembly
import Pipeline
import Synchronization
import Telemetry
import Terminal
import VerbSupport

/// The verb of production: events from Kafka become pushes at Apple.
enum WorkerVerb {
  private static let readyFile = Option<String?>(
    "ready-file", .path, value: "FILE",
    help: "A file that exists while the worker has partitions and can process events")

  static let verb = Verb(
    "worker", summary: "Turn events from Kafka into pushes to every follower's device",
    discussion: """
      Joins the consumer group, and runs until SIGTERM or SIGINT. Then it takes no new \
      work, waits for work in progress (lanes.drain_timeout), commits its offsets and leaves the \
      group. Other workers get the work that it could not finish. Kafka, Redis and Apple may be \
      down at the start or later: the worker waits, says so in its log, and loses nothing. On \
      SIGHUP it reads templates and credentials again, which it also does by itself.
      """,
    options: ConfigurationOptions.all + [readyFile, ProcessOptions.dieWithParent],
    examples: [
      .init("fanfare worker --config /etc/fanfare/fanfare.yaml", "Use this configuration"),
      .init(
        "fanfare worker --set lanes.count=1 --set log.level=debug",
        "Run one lane, and write debug logs"),
    ], exitCodes: [.ok, .failed, .usage, .unavailable, .retryLater, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    invocation.obeyParent()
    ProcessOptions.giveBackLargeMemory()
    ProcessOptions.raiseDescriptorLimit()
    let signals = StopSignals.catchAll()
    // The start reads all files.
    signals.whenHungUp {}
    let ready = invocation[readyFile].map { ReadyFile($0) }
    defer { ready?.end() }
    if let failure = ready?.check() {
      throw CommandFailure(.usage, "--ready-file cannot be written: \(failure)")
    }
    signals.onFirst { ready?.end() }
    return await invocation.runLogged(requirements: [.credentials]) {
      (settings, log) async throws(CommandFailure) in
      var options: PipelineOptions
      do {
        options = try Assembly.pipelineOptions(settings, version: Fanfare.version, log: log)
      } catch {
        throw CommandFailure(ofSettings: error)
      }
      let hasFailed = Atomic(false)
      options.whenFailed = { _ in
        hasFailed.store(true, ordering: .relaxed)
        signals.raise()
      }
      if let ready {
        options.whenReady = { say(ready.appear(), log) }
        options.whenUnready = { ready.disappear() }
      }
      let worker = try makeWorker(options)
      let probes = try await ProbeService.start(
        settings, log, health: { await worker.health() }, ticks: { await worker.tick() },
        metrics: { await worker.metrics() })
      probes.announce(until: signals, stopsWithin: settings.lanes.drainTimeout + leaveTime)
      do {
        try await worker.start()
      } catch {
        throw CommandFailure(.failed, "\(error)")
      }
      signals.whenHungUp {
        probes.reload {
          worker.reload()
          await worker.awaitReload()
        }
      }
      let watch = ready.map { ready in
        Task { await keep(ready, asHealthyAs: worker, log) }
      }
      await signals.wait()
      watch?.cancel()
      let isDone = await worker.stop()
      await probes.stop()
      return isDone && !hasFailed.load(ordering: .relaxed) ? .ok : .retryLater
    }
  }

  private static func makeWorker(_ options: PipelineOptions) throws(CommandFailure) -> Worker {
    do {
      return try Worker(options: options)
    } catch {
      throw CommandFailure(error.code == .configuration ? .config : .failed, "\(error)")
    }
  }

  /// To commit, to leave the group and to end, after the drain.
  private static let leaveTime: Duration = .seconds(15)

  private static let healthInterval: Duration = .seconds(1)
  /// Somebody may wait for the file.
  private static let unhealthyInterval: Duration = .milliseconds(200)

  /// The file says what `/readyz` says.
  private static func keep(_ file: ReadyFile, asHealthyAs worker: Worker, _ log: Log) async {
    while !Task.isCancelled {
      let isHealthy = await worker.health().allSatisfy { $0.trouble == nil }
      say(file.keep(isHealthy: isHealthy), log)
      try? await Task.sleep(for: isHealthy ? healthInterval : unhealthyInterval)
    }
  }

  private static func say(_ failure: String?, _ log: Log) {
    guard let failure else { return }
    log.error("the ready file cannot be written", ["reason": .text(failure)])
  }
}
