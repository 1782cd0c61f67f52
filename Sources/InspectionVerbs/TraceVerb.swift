import Assembly
import Telemetry
import Terminal
import Traces
import VerbSupport

/// `trace`: why somebody got nothing of an event, or what.
package enum TraceVerb {
  private static let event = Option<String>(
    required: "event", .text, value: "ID", help: "The event's id")
  private static let user = Option<String>(
    required: "user", .text, value: "ID", help: "The user's id")
  private static let tokens = Option(flag: "tokens", help: "Show the devices' full tokens")
  private static let payload = Option(flag: "payload", help: "Also show the payload")
  private static let json = Option(flag: "json", help: "Print one JSON object")

  package static let verb = Verb(
    "trace", summary: "Explain why a user did or did not get an event",
    discussion: """
      Shows whether the user follows the streamer, on which devices, what kept the push from them \
      or how Apple answered, and what to do. The command reads Redis, where workers keep the \
      outcomes of pushes for 7 days (events.trace), and the rules and templates of this \
      configuration. Followers, devices and the profile are the current ones; the outcomes are \
      from the time of the event. Nothing is written.
      """,
    options: [event, user, tokens, payload, json] + ConfigurationOptions.all,
    examples: [
      .init("fanfare trace --event live-8f2c --user u1", "Explain the outcome as text"),
      .init("fanfare trace --event live-8f2c --user u1 --json", "Print the same JSON as the API"),
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
    let access = Trace.Access(showsTokens: invocation[tokens], showsPayload: invocation[payload])
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

/// A trace for people.
struct TraceText {
  private let trace: Trace
  private let access: Trace.Access

  init(_ trace: Trace, _ access: Trace.Access) {
    self.trace = trace
    self.access = access
  }

  func write(to console: Console) {
    console.line(
      console.styled(
        TextLayout.printable("\(trace.event) for \(trace.user): \(words(trace.finding.verdict))"),
        .bold))
    tell(trace.finding.explanation, console)
    if !trace.finding.next.isEmpty { tell("what to do: \(trace.finding.next)", console) }
    console.line()
    for (name, value) in facts {
      console.line(TextLayout.printable("  " + TextLayout.padded(name, to: 14) + value))
    }
    if !trace.devices.isEmpty {
      console.line()
      table.write(to: console)
      // Whole, whatever the width: it is what Apple is asked about.
      for device in trace.devices {
        guard let id = device.apnsID(of: trace.event) else { continue }
        console.line(TextLayout.printable("  apns-id \(id) of \(token(of: device))"))
      }
    }
    for device in trace.devices where device.finding != trace.finding {
      tell("\(device.shortToken ?? "gone"): \(device.finding.explanation)", console)
    }
    if access.showsPayload, case .preview(let preview) = trace.rendered {
      console.line()
      for message in preview.messages {
        let name = message.platform == .apns ? "" : message.platform.name + " "
        console.line(TextLayout.printable(name + message.payload))
      }
    }
  }

  private func tell(_ text: String, _ console: Console) {
    for line in TextLayout.wrapped(text, to: max(40, min(console.width, 100) - 2)) {
      console.line(TextLayout.printable("  " + line))
    }
  }

  private func words(_ verdict: TraceVerdict) -> String {
    verdict.rawValue.replacing("-", with: " ")
  }

  private var facts: [(name: String, value: String)] {
    var facts: [(name: String, value: String)] = [
      ("fan-out", fanOut), ("streamer", trace.status.streamer),
    ]
    switch trace.follower {
    case nil: break
    case .nowhere: facts.append(("follows", "no, as of now"))
    case .shard(let index, let count):
      facts.append(("follows", "yes, as of now: in shard \(index) of \(count)"))
    case .plain(let key): facts.append(("follows", "yes, as of now: in \(key)"))
    }
    if let segment = trace.segment {
      facts.append(("segment", "\(segment), \(trace.isSettled ? "settled" : "not settled")"))
    }
    if let topic = trace.topic { facts.append(("topic", topic)) }
    for problem in trace.problems { facts.append(("problem", problem)) }
    if let rule = trace.ruleNow { facts.append(("rules now", "\(rule.name) would keep it")) }
    switch trace.rendered {
    case .unknown(let why): facts.append(("text now", why))
    case .preview(let preview):
      facts.append(
        (
          "text now",
          "locale \(preview.locale), \(preview.byteCount) bytes"
            + (preview.isShortened ? ", shortened to fit" : "")
            + (access.showsPayload ? "" : "; --payload shows it")
        ))
    }
    return facts
  }

  private var fanOut: String {
    let status = trace.status
    var text =
      status.halt.map { "\(status.state.rawValue), \($0.rawValue)" }
      ?? status.state.rawValue
    if status.startedAt > 0 { text += ", began \(time(Int64(status.startedAt)))" }
    if !status.duplicate.isEmpty {
      text += "; another record of this id was not sent (\(status.duplicate))"
    }
    return text
  }

  private func time(_ milliseconds: Int64?) -> String {
    milliseconds.map { WallClock.rfc3339($0) } ?? "-"
  }

  private func token(of device: TracedDevice) -> String {
    (access.showsTokens ? device.binding?.token : device.shortToken) ?? "-"
  }

  private var table: Table {
    var table = Table(
      [
        .init("DEVICE"), .init("ENVIRONMENT"), .init("TOPIC"), .init("STATE"), .init("PUSH"),
        .init("REASON"), .init("AT"), .init("SENDS", .right),
      ])
    for device in trace.devices {
      table.add([
        token(of: device), device.binding?.destination.name ?? "-", device.binding?.topic ?? "-",
        device.state.rawValue.replacing("_", with: " "), words(device.finding.verdict),
        device.finding.reason.isEmpty ? "-" : device.finding.reason, time(device.at),
        device.sends.map { String($0) } ?? "-",
      ])
    }
    return table
  }
}
