import Assembly
import FanOuts
import Model
import Terminal
import VerbSupport

/// `fanout reschedule`: changes when an event is sent that waits for its `send_at`.
enum FanOutReschedule {
  private static let sendAt = SendTimeFlags.at("The new time")
  private static let sendAtLocal = SendTimeFlags.local("The new time by each reader's clock")

  static let verb = Verb(
    "reschedule", summary: "Change when a scheduled event is sent",
    discussion: """
      The event keeps its lifetime, which counts from the new time. A time that is past sends the \
      event at once; one from which it would have expired is refused. An event that is being sent \
      cannot be rescheduled.
      """,
    options: [sendAt, sendAtLocal], arguments: [FanOutVerb.event],
    examples: [
      .init(
        "fanfare fanout reschedule live-8f2c --send-at 2026-12-01T19:00:00Z",
        "Send the event an hour later")
    ], exitCodes: FanOutVerb.codesOfEvent
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    guard let time = try SendTimeFlags.time(invocation, sendAt, sendAtLocal) else {
      throw CommandFailure(.usage, "--send-at or --send-at-local is needed")
    }
    let settings = try invocation.loadSettings()
    try await FanOutVerb.ask(invocation) { (control) async throws(CommandFailure) in
      try await control.reschedule(
        invocation[FanOutVerb.event], to: time, ahead: settings.events.maximumSendAhead)
    }
    return try await FanOutVerb.show(invocation)
  }
}

/// When an event is to be sent, as flags.
enum SendTimeFlags {
  static func at(_ help: String) -> Option<String?> {
    Option("send-at", .text, value: "RFC3339", help: "\(help), such as 2026-12-01T18:00:00Z")
  }

  static func local(_ help: String) -> Option<String?> {
    Option("send-at-local", .text, value: "DATETIME", help: "\(help), such as 2026-12-01T18:00")
  }

  /// Nil where neither is given.
  static func time(
    _ invocation: Invocation, _ at: Option<String?>, _ local: Option<String?>
  ) throws(CommandFailure) -> SendTime? {
    switch (invocation[at], invocation[local]) {
    case (nil, nil): return nil
    case (let text?, nil):
      guard let time = SendTime(moment: text) else {
        throw CommandFailure(.usage, "--send-at takes a time such as 2026-12-01T18:00:00Z")
      }
      return time
    case (nil, let text?):
      guard let time = SendTime(local: text) else {
        throw CommandFailure(
          .usage, "--send-at-local takes a date and time such as 2026-12-01T18:00")
      }
      return time
    case (.some, .some):
      throw CommandFailure(.usage, "--send-at and --send-at-local do not go together")
    }
  }
}
