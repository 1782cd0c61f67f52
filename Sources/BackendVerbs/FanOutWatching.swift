import FanOuts
import Record
import Terminal

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
