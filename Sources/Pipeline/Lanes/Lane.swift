import EventLoop
import Ingest
import Kafka
import Record
import Redis
import Render
import Spans
import Telemetry

/// One thread, one event loop, everything a segment needs; shares nothing with other lanes. Owns
/// the loop and joins what works on it; none of that is reached from elsewhere.
package actor Lane {
  private static let permissionsPause: Duration = .seconds(1)
  private static let slowSlotsInterval: Duration = .milliseconds(200)

  let loop: EventLoop
  private let context: LaneContext
  private let clock: ClockWatch
  private let segments: SegmentRunner
  private let schedule: Schedule
  private let fanOuts: FanOutRunner
  private let controls: FanOutControlWatch
  private let lostSegments: LostSegments
  private let deadLetters: DeadLetterNotes
  private let heartbeat: HeartbeatWriter
  private var options: PipelineOptions { context.options }
  private var isStopping: Bool { context.timers.isStopped }

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  package nonisolated var taskExecutor: (any TaskExecutor)? { loop.taskExecutor }

  package init(
    index: Int, options: PipelineOptions, producer: any RecordProducer, counters: WorkerCounters,
    spans: SpanQueue? = nil
  ) {
    loop = options.makeLoop("lane-\(index)")
    context = LaneContext(
      index: index, options: options, loop: loop, producer: producer, counters: counters,
      spans: spans)
    clock = ClockWatch(context)
    segments = SegmentRunner(context, clock: clock)
    schedule = Schedule(context)
    fanOuts = FanOutRunner(context, segments, schedule)
    controls = FanOutControlWatch(context, segments)
    lostSegments = LostSegments(context)
    deadLetters = DeadLetterNotes(context)
    heartbeat = HeartbeatWriter(context, clock: clock)
  }

  /// Connects to Redis and APNs; both wait for the other side as long as it takes.
  package func start() {
    context.redis.start()
    loop.task(on: self) { await self.prepareScripts() }
    context.deliver.start()
    repeats(every: segments.claims.renewalInterval) { $0.segments.claims.renew() }
    repeats(every: FanOutControlWatch.interval) { $0.controls.check() }
    repeats(every: LimitLeases.interval) { $0.segments.leases.renew() }
    repeats(every: Self.slowSlotsInterval) { $0.releaseSlots() }
  }

  /// Work that begins from now on gets these templates.
  nonisolated func use(_ render: RenderStage) {
    loop.execute { [weak self] in self?.assumeIsolated { $0.context.render = render } }
  }

  private func prepareScripts() async { await context.record.prepare() }

  /// Names once, when Redis has answered, every command that its user may not use: a worker of a
  /// newer version may need more than it was granted. One lane does it for the worker.
  func namePermissions() {
    guard !isStopping else { return }
    loop.task(on: self) { await self.checkPermissions() }
  }

  private func checkPermissions() async {
    do throws(RedisError) {
      let missing = try await CommandPermissions.missing(
        context.redis, WorkerPermissions.commands(options.keyspace.probe, options.redis),
        options.redis)
      guard !missing.isEmpty else { return }
      options.log.error(
        "our Redis user may not use commands that a worker needs: docs/redis.md lists them",
        ["commands": .text(missing.joined(separator: ", "))])
    } catch {
      // Redis is away: that is said elsewhere.
      guard error.isTransient else { return }
      loop.schedule(after: Self.permissionsPause) { [weak self] in
        self?.assumeIsolated { $0.namePermissions() }
      }
    }
  }

  /// Does something now and at every interval, until the lane stops.
  private func repeats(
    every interval: Duration, _ work: @escaping @Sendable (isolated Lane) -> Void
  ) {
    guard !isStopping else { return }
    work(self)
    loop.schedule(after: interval) { [weak self] in
      self?.assumeIsolated { $0.repeats(every: interval, work) }
    }
  }

  /// Segments whose route has turned out to be slow, or that a limit holds up, release their
  /// slots.
  private func releaseSlots() {
    segments.runs.releaseSlots {
      context.deliver.yields($0) || context.deliver.isOutlier($1, on: $0)
    }
    segments.limited.update(segments.runs.all, now: context.now)
    if context.tap.hasSamples { loop.task(on: self) { await self.context.tap.write() } }
  }

  /// From now on taps see what they want of the lane's outcomes; nil: nobody taps.
  func tap(_ request: TapRequest?, _ budget: TapBudget) {
    context.tap.set(request, budget)
    segments.observe()
  }

  /// The worker begins nothing more: what waits to be begun is left to others.
  func stopWaiting() { segments.limited.stop() }

  /// The time to finish is nearly over: nothing more is sent. Pushes without an outcome that are
  /// not in flight leave their segment as stragglers, also of followers that are still to be read,
  /// so that it settles. One that does not is sent again from its beginning by another worker.
  package func leave() {
    context.deliver.leave()
    segments.runs.leave { context.deliver.postponeAll(of: $0) }
  }

  /// Pushes in flight leave too, a little later: a healthy connection has answered by then.
  package func leaveInFlight() { context.deliver.leaveInFlight() }

  /// Gives up on what is in flight: calls of `run` return `.notDone`. The claims are released, so
  /// that another worker need not wait for their end.
  package func stop() async {
    context.timers.stop()
    segments.limited.stop()
    segments.runs.stop()
    context.deliver.stop()
    await segments.claims.releaseAll()
    await heartbeat.end()
    context.redis.close()
  }

  /// Lets the thread end. Nothing runs on the lane afterwards.
  package nonisolated func end() { loop.stop() }

  /// Does all that a record asks for. Never throws: what cannot be done comes back as
  /// `.deadLetter`, what could not be done yet as `.notDone` or `.again`.
  ///
  /// - Parameter releaseSlot: called when the record needs its slot no longer; perhaps not before
  ///   the end.
  package func run(
    _ message: KafkaMessage, _ kind: WorkKind, releaseSlot: @escaping @Sendable () -> Void
  ) async -> Receipt {
    do {
      let slot = LaneSlot(releaseSlot)
      guard kind == .straggler else { return try await work(message, slot) }
      return try await segments.stragglers.admit(message, slot) { try await work($0, $1) }
    } catch is RetryUntilStopped.Stopped {
      return .notDone
    } catch let error as RecordError where error.clockAhead != nil {
      let ahead = error.clockAhead ?? .zero
      // The event has expired by Redis' clock too by then. Waiting for less than the shortest
      // absence holds up one record; an absence costs all partitions two rebalances.
      guard ahead >= ClockAbsence.shortest else { return .again(after: ahead) }
      return .notHere(clockAhead: ahead, why: "\(error)")
    } catch {
      // By `stop`, which closes the clients of the context.
      guard !isStopping else { return .notDone }
      // Redis holds what the contract rules out, does not do what we ask, or still answers what we
      // do not know when the event has expired. Waiting mends none of it, and a record that is
      // never done would hold up its partition's offset for good.
      return .deadLetter(IngestError(.unprocessable, "\(error)"))
    }
  }

  private func work(_ message: KafkaMessage, _ slot: LaneSlot) async throws -> Receipt {
    switch context.ingest.decode(message, now: context.now) {
    case .event(let event): return try await fanOuts.run(event, from: message, slot)
    case .early(let event, let error):
      guard try await clock.isEarlyForRedis(event) else {
        return try await fanOuts.run(event, from: message, slot)
      }
      return .deadLetter(error)
    case .ended(let end): return try await fanOuts.end(end)
    case .plan(let plan): return try await fanOuts.goOn(plan)
    case .segment(let segment): return try await segments.take(segment, from: message, slot)
    case .malformed(let error): return .deadLetter(error)
    }
  }

  package func recoverSegments(lostAt: UInt64) async -> Duration? {
    await lostSegments.recover(lostAt: lostAt)
  }

  package func clockAhead() async -> Duration? {
    (try? await clock.compare()).map { .milliseconds($0) }
  }

  package func noteDeadLetter(_ message: KafkaMessage, _ error: IngestError) async -> Bool {
    await deadLetters.take(message, error)
  }

  /// Pushes waiting for a stream, streams in flight and open connections: for the heartbeat.
  package func figures() -> LaneFigures {
    LaneFigures(
      ready: context.deliver.readyCount, platforms: context.deliver.figures,
      claims: segments.runs.count, slots: segments.runs.slots, fanOuts: segments.runs.eventIDs,
      awaitingAnswers: segments.runs.awaitingAnswers,
      mostBatchBytes: segments.runs.mostBatchBytes,
      clockAhead: clock.ahead, waitsFor: context.board.all + segments.leases.waitsFor,
      redisTrouble: context.redis.obstacle.map { "\($0)" },
      obstacles: context.deliver.obstacles, limits: segments.leases.short,
      eventAges: fanOuts.eventAges,
      fanOutTimes: context.endings.durations, firstPushTimes: context.endings.firstPushes,
      redisTimes: context.redisRoundTrips.times, redisFailures: context.redisRoundTrips.failures,
      brokenRedisConnections: context.redis.brokenConnections,
      replicas: context.redis.replicaFigures)
  }

  /// Adds to the statistics what they do not know yet of the dead letters.
  func countDeadLetters() async { await deadLetters.count() }

  /// Releases scheduled events until the lane stops. One lane does it for the worker.
  func startReleases() {
    repeats(every: Schedule.interval) { lane in
      let schedule = lane.schedule
      lane.loop.task(on: lane) { await schedule.release() }
    }
  }

  /// Beats now and at every interval, until the lane stops. One lane does it for the worker.
  func startHeartbeat(_ beat: Heartbeat) {
    guard !isStopping else { return }
    loop.task(on: self) { await self.heartbeat.write(beat) }
    loop.schedule(after: options.heartbeatInterval) { [weak self] in
      self?.assumeIsolated { $0.startHeartbeat(beat) }
    }
  }
}
