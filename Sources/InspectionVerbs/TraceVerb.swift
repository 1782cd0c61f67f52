import Assembly
import Terminal
import Traces
import VerbSupport

/// `trace`: why somebody got nothing of an event, or what.
package enum TraceVerb {
  private static let event = Option<String>(
    required: "event", .text, value: "ID", help: "The event's id")
  private static let user = Option<String>(
    required: "user", .text, value: "ID", help: "The user's id")
  private static let tokens = Option(flag: "tokens", help: "Show the devices' tokens whole")
  private static let payload = Option(flag: "payload", help: "Show the text, too")
  private static let json = Option(flag: "json", help: "Print one JSON object")

  package static let verb = Verb(
    "trace", summary: "Say what became of an event for one user, and why",
    discussion: """
      Whether the user follows, with which devices, what kept the push from them or what Apple \
      said of it, and what to do. It reads Redis, where workers keep what became of pushes \
      (events.trace) for 7 days, and the rules and templates of this configuration. Followers, \
      devices and profile are those of now, what became of pushes is of then. Nothing is written.
      """,
    options: [event, user, tokens, payload, json] + ConfigurationOptions.all,
    examples: [
      .init("fanfare trace --event live-8f2c --user u1", "For people"),
      .init("fanfare trace --event live-8f2c --user u1 --json", "As the API answers it"),
    ], exitCodes: [.ok, .failed, .usage, .unavailable, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let settings = try invocation.loadSettings()
    let options: TraceOptions
    do { options = try Assembly.traceOptions(settings) } catch { throw CommandFailure(error) }
    let (event, user) = (invocation[event], invocation[user])
    let now = invocation.nowMilliseconds
    let trace = try await CommandRedis.lend(settings) {
      (_, redis) async throws(CommandFailure) -> Trace in
      do throws(TraceError) {
        return try await TraceReader(redis: redis, options: options)
          .trace(event, of: user, now: now)
      } catch {
        throw CommandFailure(error)
      }
    }
    let access = Trace.Access(
      showsTokens: invocation[tokens], showsPayload: invocation[payload])
    if invocation[json] {
      invocation.output.line(trace.jsonText(access))
    } else {
      TraceText(trace, access).write(to: invocation.output)
    }
    return .ok
  }
}

extension CommandFailure {
  fileprivate init(_ error: TraceError) {
    switch error {
    case .unknownEvent, .unknownUser: self.init(.failed, error.message ?? "")
    case .badUser: self.init(.usage, error.message ?? "")
    case .record(let error):
      let code: ExitCode = error.code.ofRedis.map { Self.code(of: $0) } ?? .failed
      self.init(code, error.description)
    case .devices(let error): self.init(error)
    }
  }
}
