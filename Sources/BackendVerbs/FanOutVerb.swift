import Assembly
import FanOuts
import Record
import Terminal
import VerbSupport

/// `fanout …`: the hand on the brake.
package enum FanOutVerb {
  static let json = Option(flag: "json", help: "Print JSON, one object a line")
  static let event = Argument<String>(required: "event", .text, help: "The event's id")
  private static let reason = Option<String>(
    "reason", .text, default: "", value: "WORDS", help: "Why, for whoever looks at it later")
  private static let apply = Option(flag: "apply", help: "Do it; otherwise it is only told")
  private static let watches = Option(
    flag: "watch", short: "w", help: "Show how it goes on, and end when it has ended")
  private static let timeout = Option(
    "timeout", .duration(in: .seconds(1) ... .seconds(7 * 86_400)), default: .seconds(3_600),
    help: "How long to watch at most")
  private static let limit = Option(
    "limit", .integer(in: 1...1000), default: 20, value: "N", help: "How many at most")

  package static let verb = Verb(
    group: "fanout", summary: "See fan-outs, pause them, let them go on, cancel them",
    discussion: """
      They are read from Redis, and what is said here is written there: every worker obeys within \
      two seconds, whichever it is. What is in flight to Apple then still gets its answer.
      """,
    options: [json] + ConfigurationOptions.all,
    verbs: [list, status, pause, resume, cancel],
    examples: [
      .init("fanfare fanout list", "What began last"),
      .init("fanfare fanout pause live-8f2c --reason 'wrong title'", "Stop it for now"),
      .init("fanfare fanout cancel live-8f2c --apply", "Stop it for good"),
    ])

  private static let codes: [ExitCode] = [.ok, .failed, .usage, .unavailable, .config]

  private static let list = Verb(
    "list", summary: "Show the fan-outs that began last", options: [limit], exitCodes: codes
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
    "status", summary: "Show how a fan-out fares",
    discussion: """
      With --watch a terminal shows a bar, the pushes with an outcome of about how many, the rate \
      and the time left; elsewhere there is a line at each change, once a second at most. The \
      exit code says how it ended: 0 done, 3 incomplete or expired, 4 cancelled, 5 unknown to \
      Redis for 30 s, 6 not ended within --timeout. A fan-out that is done has an outcome for \
      everybody: how many were told says accepted, beside rejected and expired.
      """,
    options: [watches, timeout], arguments: [event],
    examples: [
      .init("fanfare fanout status live-8f2c", "Once"),
      .init("fanfare fanout status live-8f2c --watch && echo done", "In a script"),
    ], exitCodes: codes + [.incomplete, .cancelled, .unknown, .timedOut]
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
    "pause", summary: "Stop a fan-out until it is resumed",
    discussion: """
      What is not in flight waits in Kafka, and expires when the event does: a pause does not make \
      an event live longer.
      """,
    options: [reason], arguments: [event], exitCodes: codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    try await set(.pause, "was paused before", invocation)
  }

  private static let resume = Verb(
    "resume", summary: "Let a paused fan-out go on",
    discussion: "What waits in Kafka comes back within lanes.straggle_delay.",
    arguments: [event], exitCodes: codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    try await set(.resume, "was not paused", invocation)
  }

  private static let cancel = Verb(
    "cancel", summary: "Stop a fan-out for good",
    discussion: """
      Whatever has no outcome is counted as cancelled. That cannot be undone: followers who were \
      not told yet never are. Without --apply it only shows the fan-out.
      """,
    options: [reason, apply], arguments: [event], exitCodes: codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    guard invocation[apply] else {
      let code = try await show(invocation)
      invocation.errors.line("nothing was written; --apply cancels it")
      return code
    }
    return try await set(.cancel, "was cancelled before", invocation)
  }

  private static func show(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let fanOut = try await ask(invocation) { (control) async throws(CommandFailure) in
      try await control.fanOut(invocation[event])
    }
    if invocation[json] {
      invocation.output.line(FanOutReport.json(fanOut).serialized())
    } else {
      FanOutReport.summary(of: fanOut, now: invocation.nowMilliseconds)
        .write(to: invocation.output)
    }
    return .ok
  }

  private static func set(
    _ order: FanOutControl.Order, _ already: String, _ invocation: Invocation
  ) async throws(CommandFailure) -> ExitCode {
    let isNew = try await ask(invocation) { (control) async throws(CommandFailure) in
      try await control.give(
        order, to: invocation[event], reason: order == .resume ? "" : invocation[reason],
        now: invocation.nowMilliseconds)
    }
    if !isNew { invocation.errors.line("\(TextLayout.printable(invocation[event])) \(already)") }
    return try await show(invocation)
  }

  private static func ask<T: Sendable>(
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
    let (done, total) = FanOutWatch.progress(of: known.status)
    let note = FanOutWatch.note(of: known.status)
    if line == nil {
      var options = ProgressLine.Options()
      options.plainInterval = .zero
      // What was there before is part of no rate, unless the fan-out begins with the watch.
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
