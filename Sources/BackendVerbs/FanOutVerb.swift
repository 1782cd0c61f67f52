import Assembly
import FanOuts
import Record
import Terminal
import VerbSupport

/// `fanout …`: pauses, resumes, cancels and reschedules fan-outs, and shows them.
package enum FanOutVerb {
  static let json = Option(flag: "json", help: "Print JSON, one object on each line")
  static let event = Argument<String>(required: "event", .text, help: "The event's id")
  private static let reason = Option<String>(
    "reason", .text, default: "", value: "WORDS",
    help: "The reason, which is shown with the fan-out")
  /// In Unicode scalars, as the API counts them.
  private static let maximumReason = 512
  private static let apply = Option(
    flag: "apply",
    help: "Cancel the fan-out; otherwise it is only shown")
  private static let watches = Option(
    flag: "watch", short: "w", help: "Show the progress until the fan-out has ended")
  private static let timeout = Option(
    "timeout", .duration(in: .seconds(1) ... .seconds(7 * 86_400)), default: .seconds(3_600),
    help: "The time limit for watching")
  private static let limit = Option(
    "limit", .integer(in: 1...1000), default: 20, value: "N",
    help: "The largest number of fan-outs to show, of those that are scheduled and of the others")

  package static let verb = Verb(
    group: "fanout", summary: "Show, pause, resume, cancel and reschedule fan-outs",
    discussion: """
      These verbs read fan-outs from Redis, and write your commands there. Every worker obeys \
      within two seconds. Pushes that are in flight to Apple then still get their answers.
      """,
    options: [json] + ConfigurationOptions.all,
    verbs: [list, status, pause, resume, cancel, FanOutReschedule.verb],
    examples: [
      .init("fanfare fanout list", "Show the latest fan-outs"),
      .init("fanfare fanout pause live-8f2c --reason 'wrong title'", "Pause a fan-out"),
      .init("fanfare fanout cancel live-8f2c --apply", "Cancel a fan-out for good"),
    ])

  private static let codes: [ExitCode] = [.ok, .failed, .usage, .unavailable, .config]
  static let codesOfEvent = codes + [.unknown]

  private static let list = Verb(
    "list", summary: "Show the latest fan-outs", options: [limit], exitCodes: codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let fanOuts = try await ask(invocation) { (control) async throws(CommandFailure) in
      try await control.recent(atMost: invocation[limit])
    }
    if invocation[json] {
      for fanOut in fanOuts { invocation.output.line(FanOutReport.json(fanOut).serialized()) }
    } else if fanOuts.isEmpty {
      invocation.errors.line("no fan-out began in the last 7 days")
    } else {
      FanOutReport.table(fanOuts, now: invocation.nowMilliseconds).write(to: invocation.output)
    }
    return .ok
  }

  private static let status = Verb(
    "status", summary: "Show the progress of a fan-out",
    discussion: """
      With --watch, a terminal shows a bar, the number of pushes with an outcome, the estimated \
      total, the rate and the time left. Other outputs get a line at each change, at most one a \
      second. The exit code says how the fan-out ended: 0 done, 3 incomplete or expired, 4 \
      cancelled, 5 unknown to Redis (with --watch for 30 s), 6 not ended within --timeout. When a \
      fan-out is done, everybody has an outcome: accepted says how many were notified, beside \
      rejected and expired.
      """,
    options: [watches, timeout], arguments: [event],
    examples: [
      .init("fanfare fanout status live-8f2c", "Show the progress once"),
      .init("fanfare fanout status live-8f2c --watch && echo done", "Wait for the end in a script"),
    ], exitCodes: codesOfEvent + [.incomplete, .cancelled, .timedOut]
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    guard invocation[watches] else { return try await show(invocation) }
    let limit = invocation[timeout]
    // The time to find Redis is a part of it.
    let start = invocation.nowNanoseconds
    return try await ask(invocation, within: limit) { (control) async throws(CommandFailure) in
      var watching = FanOutWatching(
        invocation, event: invocation[event], isJSON: invocation[json], limit: limit, at: start)
      return try await watching.run(control)
    }
  }

  private static let pause = Verb(
    "pause", summary: "Pause a fan-out until it is resumed",
    discussion: """
      Pushes that are not in flight wait in Kafka. They expire with the event: a pause does not \
      extend its lifetime.
      """,
    options: [reason], arguments: [event], exitCodes: codesOfEvent
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    try await set(.pause, "was paused before", invocation)
  }

  private static let resume = Verb(
    "resume", summary: "Resume a paused fan-out",
    discussion: "Pushes that wait in Kafka come back within lanes.straggle_delay.",
    arguments: [event], exitCodes: codesOfEvent
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    try await set(.resume, "was not paused", invocation)
  }

  private static let cancel = Verb(
    "cancel", summary: "Cancel a fan-out for good",
    discussion: """
      Every push without an outcome counts as cancelled. You cannot undo this: followers who were \
      not notified yet never are. Without --apply the command only shows the fan-out.
      """,
    options: [reason, apply], arguments: [event], exitCodes: codesOfEvent
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    guard invocation[apply] else {
      let fanOut = try await known(invocation)
      report(fanOut, invocation)
      let status = fanOut.status
      let canBeStopped =
        status.halt != .cancelled && (!status.hasEnded || status.state == .incomplete)
      invocation.errors.line(
        canBeStopped
          ? "nothing was written; --apply cancels it"
          : "it is \(status.word): there is nothing left to cancel")
      return .ok
    }
    return try await set(.cancel, "was cancelled before", invocation)
  }

  static func show(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    report(try await known(invocation), invocation)
    return .ok
  }

  private static func known(
    _ invocation: Invocation
  ) async throws(CommandFailure) -> KnownFanOut {
    try await ask(invocation) { (control) async throws(CommandFailure) in
      try await control.fanOut(invocation[event])
    }
  }

  private static func report(_ fanOut: KnownFanOut, _ invocation: Invocation) {
    if invocation[json] {
      invocation.output.line(FanOutReport.json(fanOut).serialized())
    } else {
      FanOutReport.summary(of: fanOut, now: invocation.nowMilliseconds)
        .write(to: invocation.output)
    }
  }

  private static func set(
    _ order: FanOutControl.Order, _ already: String, _ invocation: Invocation
  ) async throws(CommandFailure) -> ExitCode {
    guard invocation[reason].unicodeScalars.count <= maximumReason else {
      throw CommandFailure(.usage, "--reason has at most \(maximumReason) characters")
    }
    let isNew = try await ask(invocation) { (control) async throws(CommandFailure) in
      try await control.give(
        order, to: invocation[event], reason: order == .resume ? "" : invocation[reason],
        by: ProcessEnvironment.userName, now: invocation.nowMilliseconds)
    }
    if !isNew { invocation.errors.line("\(TextLayout.printable(invocation[event])) \(already)") }
    return try await show(invocation)
  }

  static func ask<T: Sendable>(
    _ invocation: Invocation, within limit: Duration? = nil,
    _ question: @Sendable (FanOutControl) async throws(CommandFailure) -> T
  ) async throws(CommandFailure) -> T {
    let settings = try invocation.loadSettings()
    let keyspace = Assembly.keyspace(settings)
    return try await CommandRedis.lend(settings, within: limit) {
      (_, redis) async throws(CommandFailure) -> T in
      try await question(FanOutControl(redis: redis, keyspace: keyspace))
    }
  }
}

/// `fanout status --watch`: a bar on a terminal, a line at each change elsewhere, and how it ends.
struct FanOutWatching {
  private static let redrawn: Duration = .milliseconds(250)
  /// Elsewhere nobody reads more often.
  private static let told: Duration = .seconds(1)

  private let invocation: Invocation
  private let event: String
  private let isJSON: Bool
  private let output: Console
  private let errors: Console
  private var watch: FanOutWatch
  private var line: ProgressLine?
  private var isAway = false
  private var isUnknown = false

  /// - Parameters:
  ///   - limit: when the watch is given up, from `start` on (monotonic nanoseconds).
  init(
    _ invocation: Invocation, event: String, isJSON: Bool, limit: Duration, at start: UInt64
  ) {
    self.invocation = invocation
    self.event = event
    self.isJSON = isJSON
    output = invocation.output
    errors = invocation.errors
    watch = FanOutWatch(limit: limit, at: start)
  }

  /// Returns when the fan-out has ended, or the time is over.
  mutating func run(_ control: FanOutControl) async throws(CommandFailure) -> ExitCode {
    let draws = output.capabilities.redraws && !isJSON
    while true {
      if let code = try await look(control) { return code }
      try? await Task.sleep(for: draws ? Self.redrawn : Self.told)
    }
  }

  private mutating func look(_ control: FanOutControl) async throws(CommandFailure) -> ExitCode? {
    let known: KnownFanOut?
    do throws(CommandFailure) {
      known = try await control.known(event)
    } catch {
      // It comes back, or the time is over.
      guard error.code == .unavailable else { throw error }
      if !isAway { say(error.message) }
      isAway = true
      return watch.giveUp(at: invocation.nowNanoseconds) == nil ? nil : .unavailable
    }
    isAway = false
    let now = invocation.nowNanoseconds
    let (isChange, end) = watch.look(known?.status, at: now)
    if let known {
      tell(known, isChange: isChange, isEnd: end != nil, at: now)
    } else if !isUnknown {
      isUnknown = true
      let name = TextLayout.printable(event)
      let seconds = watch.unknownLimit.components.seconds
      say("Redis does not know \(name) yet: waiting for a worker to read it, \(seconds) s at most")
    }
    return end
  }

  private mutating func say(_ words: String) {
    line?.clear()
    errors.line(words)
  }

  private mutating func tell(_ known: KnownFanOut, isChange: Bool, isEnd: Bool, at now: UInt64) {
    guard !isJSON else {
      if isChange { output.line(FanOutReport.json(known).serialized()) }
      return
    }
    let (done, total) = known.status.progress
    let note = FanOutWatch.note(of: known.status)
    if line == nil {
      var options = ProgressLine.Options()
      options.plainInterval = .zero
      // Pushes from before the watch count for no rate, unless the fan-out begins with the watch.
      line = ProgressLine(event, total: total, done: done, on: output, at: now, options: options)
    }
    if isChange || output.capabilities.redraws {
      line?.update(done: done, total: total, note: note, at: now)
    }
    guard isEnd else { return }
    line?.clear()
    output.line()
    FanOutReport.summary(of: known, now: invocation.nowMilliseconds).write(to: output)
  }
}
