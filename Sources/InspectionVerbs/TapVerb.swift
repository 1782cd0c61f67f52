import Assembly
import Telemetry
import Terminal
import VerbSupport
import Watching

/// `tap`: samples of outcomes as they happen.
package enum TapVerb {
  private static let event = Option<String?>(
    "event", .text, value: "ID", help: "Only this event's outcomes")
  private static let streamer = Option<String?>(
    "streamer", .text, value: "ID", help: "Only outcomes of this streamer's events")
  private static let outcome = Option<String?>(
    "outcome", .text, value: "NAME",
    help: "Only accepted, rejected, expired, cancelled or suppressed pushes")
  private static let reason = Option<String?>(
    "reason", .text, value: "NAME",
    help: "Only this reason, such as Unregistered, or this rule, such as quiet")
  private static let platform = Option<String?>(
    "platform", .text, value: "NAME", help: "Only apns, fcm or webpush")
  private static let rate = Option(
    "rate", .integer(in: 1...200), default: 20, value: "N",
    help: "The largest number of outcomes a second, of all workers together")
  private static let count = Option<Int?>(
    "count", short: "n", .integer(in: 1...1_000_000), value: "N",
    help: "Exit after so many outcomes")
  private static let json = Option(flag: "json", help: "Print JSON, one object on each line")

  package static let verb = Verb(
    "tap", summary: "Watch sampled outcomes of single pushes",
    discussion: """
      Asks the workers for samples, and prints each with its time (UTC), outcome, reason, the time \
      from request to answer and how often it was sent. A token is shown as a keyed hash: the same \
      token has the same hash until the last tap ends. Workers look for taps with their \
      heartbeats, so the first samples may take 2 seconds; when the command has ended they stop \
      within 20.

      A sample is no count: fanfare fanout status has those, and fanfare trace explains what \
      became of one user's push.
      """,
    options: [event, streamer, outcome, reason, platform, rate, count, json]
      + ConfigurationOptions.all,
    examples: [
      .init("fanfare tap --outcome rejected", "Watch what is rejected, and why"),
      .init("fanfare tap --event live-8f2c --json | jq .answer_ms", "Follow the answer times"),
    ], exitCodes: [.ok, .failed, .usage, .unavailable, .retryLater, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let wanted = invocation[outcome]
    let outcomes = ["accepted", "rejected", "expired", "cancelled", "suppressed"]
    if let wanted, !outcomes.contains(wanted) {
      throw CommandFailure(
        .usage, "--outcome is one of \(outcomes.joined(separator: ", "))")
    }
    let settings = try invocation.loadSettings()
    let keyspace = Assembly.keyspace(settings)
    var options = TapOptions()
    options.filter.event = invocation[event]
    options.filter.streamer = invocation[streamer]
    options.filter.outcome = wanted
    options.filter.reason = invocation[reason]
    options.filter.platform = invocation[platform]
    options.rate = invocation[rate]
    options.count = invocation[count]
    options.isJSON = invocation[json]
    guard options.filter.isWritable else {
      throw CommandFailure(
        .usage, "a filter has at most 500 bytes and no control characters")
    }
    let made = options
    let signals = StopSignals.catchAll()
    return try await CommandRedis.lend(settings) {
      (actor, redis) async throws(CommandFailure) -> ExitCode in
      let session = TapSession(
        made, redis, keyspace, id: TokenLabelKey.randomSecret(),
        secret: TokenLabelKey.randomSecret(), on: invocation.output, errors: invocation.errors,
        clock: WatchClock(invocation))
      try await session.run(until: signals, isolation: actor)
      return .ok
    }
  }
}
