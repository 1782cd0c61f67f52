import EventLoop
import Ingest
import Kafka
import Record
import Redis
import Telemetry

/// One thread, one event loop, everything a segment needs; shares nothing with other lanes. Owns
/// the loop and joins what works on it; none of that is reached from elsewhere.
package actor Lane {
  private static let permissionsPause: Duration = .seconds(1)
  private static let slowPlacesInterval: Duration = .milliseconds(200)

  private let options: PipelineOptions
  let loop: EventLoop
  private let timers: CancellableTimers
  private let board = WaitBoard()
  private let stages: LaneStages
  private let clock: ClockWatch
  private let deadLetters: DeadLetterNotes
  private let heartbeat: HeartbeatWriter
  private let runs: SegmentRuns
  private let claims: ClaimKeeper
  private let brakes: BrakeWatch
  private let leases: LimitLeases
  private let limited = LimitedSegments()
  private let gate: StragglerGate
  private let segments: SegmentRunner
  private let fanOuts: FanOutRunner
  private let endings: FanOutEndings
  private let lostSegments: LostSegments
  private var isStopping: Bool { timers.isStopped }

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  package nonisolated var taskExecutor: (any TaskExecutor)? { loop.taskExecutor }

  package init(
    index: Int, options: PipelineOptions, producer: any RecordProducer, counters: WorkerCounters
  ) {
    self.options = options
    let loop = options.makeLoop("lane-\(index)")
    self.loop = loop
    timers = CancellableTimers(loop: loop)
    stages = LaneStages(options: options, loop: loop)
    let (ingest, deliver, record) = (stages.ingest, stages.deliver, stages.record)
    var retry = RetryUntilStopped(
      timers: timers, log: options.log, randomFraction: options.randomFraction, board: board)
    retry.isExpired = { $0.isExpired(at: options.wallClock()) }
    retry.distrust = { [redis = stages.redis] in redis.distrust(over: $0) }
    let writer = RecordWriter(loop: loop, producer: producer, retry: retry)
    clock = ClockWatch(options: options, loop: loop, ingest: ingest, record: record, retry: retry)
    endings = FanOutEndings(log: options.log)
    deadLetters = DeadLetterNotes(
      options: options, loop: loop, ingest: ingest, record: record, retry: retry, endings: endings)
    heartbeat = HeartbeatWriter(
      options: options, loop: loop, record: record, clock: clock,
      overdue: OverdueFanOuts(options: options, record: record, endings: endings))

    let times = StragglerTimes(
      delay: options.straggleDelay, wallClock: options.wallClock)
    let labels = StragglerLabels(
      options: options, ingest: ingest, render: stages.render, deliver: deliver, times: times)
    let delays = StragglerDelays(
      options: options, loop: loop, writer: writer, labels: labels, times: times)
    let leases = LimitLeases(options: options, loop: loop, record: record, deliver: deliver)
    self.leases = leases
    runs = SegmentRuns(limits: options.limits, loop: loop) { leases.limits(of: $0) }
    gate = StragglerGate(
      options: options, deliver: deliver, labels: labels, times: times, delays: delays, runs: runs)

    let bidder = SegmentBidder(options: options, loop: loop, lane: index, expand: stages.expand)
    claims = ClaimKeeper(
      options: options, loop: loop, record: record, redis: stages.redis, retry: retry,
      clock: clock, labels: labels, runs: runs, counters: counters)
    brakes = BrakeWatch(
      options: options, loop: loop, record: record, deliver: deliver, runs: runs,
      limited: limited)
    let stragglers = StragglerWriter(
      options: options, writer: writer, labels: labels, counters: counters)
    let news = TokenNewsWriter(
      options: options, record: record, retry: retry, writer: writer, counters: counters)
    segments = SegmentRunner(
      options: options, stages: stages, bidder: bidder, claims: claims, runs: runs,
      leases: leases, limited: limited,
      sender: SegmentSender(
        options: options, stages: stages, retry: retry, bidder: bidder, runs: runs,
        stragglers: stragglers, news: news),
      lingering: SegmentLingering(options: options, deliver: deliver, times: times, runs: runs),
      settler: SegmentSettler(
        options: options, record: record, retry: retry, counters: counters,
        stragglers: stragglers, news: news, endings: endings),
      delays: delays, counters: counters)
    lostSegments = LostSegments(
      options: options, loop: loop, ingest: ingest, record: record, retry: retry, writer: writer)
    fanOuts = FanOutRunner(
      options: options, loop: loop, stages: stages, retry: retry, writer: writer,
      bidder: bidder, segments: segments, limited: limited, endings: endings,
      counters: counters)
  }

  /// Connects to Redis and APNs; both wait for the other side as long as it takes.
  package func start() {
    stages.redis.start()
    loop.task(on: self) { await self.prepareScripts() }
    stages.deliver.start()
    repeats(every: claims.renewalInterval) { $0.claims.renew() }
    repeats(every: BrakeWatch.interval) { $0.brakes.look() }
    repeats(every: LimitLeases.interval) { $0.leases.look() }
    repeats(every: Self.slowPlacesInterval) { $0.leavePlaces() }
  }

  private func prepareScripts() async { await stages.record.prepare() }

  /// Names once, when Redis has answered, every command that its user may not use: a worker of a
  /// newer version may need more than it was granted. One lane does it for the worker.
  func namePermissions() {
    guard !isStopping else { return }
    loop.task(on: self) { await self.lookAtPermissions() }
  }

  private func lookAtPermissions() async {
    do throws(RedisError) {
      let missing = try await CommandPermissions.missing(
        stages.redis, WorkerPermissions.commands(options.keyspace.probe, options.redis),
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

  /// Segments whose route has turned out to be slow, or that a limit holds up, give up their
  /// places.
  private func leavePlaces() {
    runs.leavePlaces {
      stages.deliver.yields($0) || stages.deliver.getsNowhere($1, on: $0)
    }
    limited.look(at: runs.all, now: options.wallClock())
  }

  /// The worker begins nothing more: what waits to be begun is left to others.
  func stopWaiting() { limited.stop() }

  /// The time to finish is nearly over: nothing more is sent. What has no outcome and is not in
  /// flight leaves its segment as stragglers, also of followers that are still to be read, so that
  /// it settles. One that does not is sent again from its beginning by another worker.
  package func leave() {
    stages.deliver.leave()
    runs.leave { stages.deliver.postponeAll(of: $0) }
  }

  /// What is in flight leaves too, a little later: a connection that is well has answered by then.
  package func leaveInFlight() { stages.deliver.leaveInFlight() }

  /// Gives up on what is in flight: calls of `run` return `.notDone`. The claims are released, so
  /// that another worker need not wait for their end.
  package func stop() async {
    timers.stop()
    limited.stop()
    runs.stop()
    stages.deliver.stop()
    await claims.releaseAll()
    stages.redis.close()
  }

  /// Lets the thread end. Nothing runs on the lane afterwards.
  package nonisolated func end() { loop.stop() }

  /// Does all that a record asks for. Never throws: what cannot be done comes back as `.hopeless`,
  /// what could not be done yet as `.notDone` or `.again`.
  ///
  /// - Parameter vacate: called when the record needs its place no longer; perhaps not before the
  ///   end.
  package func run(
    _ message: KafkaMessage, _ kind: WorkKind, vacate: @escaping @Sendable () -> Void
  ) async -> Receipt {
    do {
      guard kind == .straggler else { return try await work(message, vacate) }
      return try await gate.pass(message, vacate) { try await work($0, $1) }
    } catch is RetryUntilStopped.Stopped {
      return .notDone
    } catch let error as RecordError where error.clockAhead != nil {
      let ahead = error.clockAhead ?? .zero
      // The event has expired by Redis' clock too by then. Waiting for less than the shortest
      // absence holds up one record; an absence costs all partitions two rebalances.
      guard ahead >= ClockAbsence.shortest else { return .again(after: ahead) }
      return .notHere(clockAhead: ahead, why: "\(error)")
    } catch {
      // By `stop`, which closes the clients of the stages.
      guard !isStopping else { return .notDone }
      // Redis holds what the contract rules out, does not do what we ask, or still answers what we
      // do not know when the event has expired. Waiting mends none of it, and a record that is
      // never done would hold up its partition's offset for good.
      return .hopeless(IngestError(.unprocessable, "\(error)"))
    }
  }

  private func work(
    _ message: KafkaMessage, _ vacate: @escaping () -> Void
  ) async throws -> Receipt {
    switch stages.ingest.decode(message, now: options.wallClock()) {
    case .event(let event): return try await fanOuts.run(event, from: message, vacate)
    case .early(let event, let error):
      guard try await clock.isEarlyForRedis(event) else {
        return try await fanOuts.run(event, from: message, vacate)
      }
      return .hopeless(error)
    case .ended(let end): return try await fanOuts.end(end)
    case .plan(let plan): return try await fanOuts.goOn(plan)
    case .segment(let segment): return try await segments.take(segment, from: message, vacate)
    case .malformed(let error): return .hopeless(error)
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
      ready: stages.deliver.readyCount, inFlight: stages.deliver.inFlight,
      connections: stages.deliver.openConnections, streamLimit: stages.deliver.streamLimit,
      claims: runs.count, places: runs.places, fanOuts: runs.eventIDs,
      lingering: runs.lingering, mostBatchBytes: runs.mostBatchBytes,
      clockAhead: clock.ahead, waitsFor: board.all + leases.waitsFor,
      redisTrouble: stages.redis.obstacle.map { "\($0)" },
      obstacles: stages.deliver.obstacles, limits: leases.short,
      answerTimes: stages.deliver.answerTimes, eventAges: fanOuts.eventAges,
      fanOutTimes: endings.durations, firstPushTimes: endings.firstPushes,
      connectionCounts: stages.deliver.connectionCounts,
      answerCounts: stages.deliver.answerCounts,
      unknownAnswers: stages.deliver.unknownAnswers,
      redisTimes: stages.redisRoundTrips.times, redisFailures: stages.redisRoundTrips.failures,
      brokenRedisConnections: stages.redis.brokenConnections,
      replicas: stages.redis.replicaFigures)
  }

  /// Adds to the statistics what they do not know yet of the dead letters.
  func countDeadLetters() async { await deadLetters.count() }

  /// Beats now and at every interval, until the lane stops. One lane does it for the worker.
  func startHeartbeat(_ beat: Heartbeat) {
    guard !isStopping else { return }
    loop.task(on: self) { await self.heartbeat.write(beat) }
    loop.schedule(after: options.heartbeatInterval) { [weak self] in
      self?.assumeIsolated { $0.startHeartbeat(beat) }
    }
  }
}
