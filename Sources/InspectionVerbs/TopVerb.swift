import Assembly
import Terminal
import VerbSupport
import Watching

/// `top`: fan-outs, workers and obstacles, as they change.
package enum TopVerb {
  private static let limit = Option(
    "limit", .integer(in: 1...500), default: 50, value: "N",
    help: "How many of the newest fan-outs to look at")
  private static let operate = Option(
    flag: "operate", help: "Let keys pause, resume and cancel for the first 10 minutes")
  private static let once = Option(flag: "once", help: "Print one block and exit")
  private static let interval = Option(
    "interval", .duration(in: .seconds(1) ... .seconds(3_600)), default: .seconds(1),
    help: "The time between two blocks, where the output is no terminal")
  private static let json = Option(
    flag: "json", help: "Print JSON, one object on each line, for each block")

  package static let verb = Verb(
    "top", summary: "Watch fan-outs, workers and obstacles",
    discussion: """
      On a terminal the view is drawn every second: fan-outs with their progress, rate, time left \
      and expiry, those at risk first; workers with their heartbeats; and what holds up pushes. \
      ? lists the keys, q quits. Keys change nothing until you press o, or with --operate: then p, \
      r and c pause, resume and cancel the selected fan-out. They ask for a reason and a \
      confirmation.

      Elsewhere each interval prints one block of lines. The command reads Redis alone: at most \
      --limit fan-outs that have begun, as many scheduled ones, and 64 workers a second.
      """,
    options: [limit, operate, once, interval, json] + ConfigurationOptions.all,
    examples: [
      .init("fanfare top", "Watch"),
      .init("fanfare top --once", "Print the state once"),
      .init("fanfare top --json --interval 10s | jq .lag", "Follow one number"),
    ], exitCodes: [.ok, .failed, .usage, .unavailable, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let settings = try invocation.loadSettings()
    let keyspace = Assembly.keyspace(settings)
    let output = invocation.output
    let clock = WatchClock(invocation)
    let isBlocks = invocation[json] || invocation[once] || !output.capabilities.redraws
    guard !isBlocks, let screen = FullScreen() else {
      guard !invocation[operate] else {
        throw CommandFailure(.usage, "--operate needs a terminal: see fanfare fanout")
      }
      var blocks = TopBlocks()
      blocks.interval = invocation[interval]
      blocks.isOnce = invocation[once]
      blocks.isJSON = invocation[json]
      let (made, limit) = (blocks, invocation[limit])
      return try await CommandRedis.lend(settings) {
        (actor, redis) async throws(CommandFailure) -> ExitCode in
        try await made.run(
          redis, keyspace, limit: limit, on: output, errors: invocation.errors, clock: clock,
          isolation: actor)
        return .ok
      }
    }
    let signals = StopSignals.catchAll()
    let (limit, operates) = (invocation[limit], invocation[operate])
    return try await CommandRedis.lendOnLoop(settings) {
      (actor, loop, redis) async throws(CommandFailure) -> ExitCode in
      let session = TopSession(
        on: screen, loop, redis, keyspace, limit: limit, operates: operates,
        operatorName: ProcessEnvironment.userName, paint: Paint(output.capabilities),
        clock: clock)
      let (events, continuation) = AsyncStream.makeStream(
        of: ScreenEvent.self, bufferingPolicy: .bufferingOldest(256))
      let source = ScreenEvents(
        of: screen.input, until: signals, every: .seconds(1),
        now: { invocation.nowNanoseconds }, report: { continuation.yield($0) })
      guard source.start() else {
        throw CommandFailure(.failed, "the system has no thread left to read keys")
      }
      await session.run(events, isolation: actor)
      return .ok
    }
  }
}

extension WatchClock {
  init(_ invocation: Invocation) {
    self.init(
      milliseconds: { invocation.nowMilliseconds }, nanoseconds: { invocation.nowNanoseconds })
  }
}
