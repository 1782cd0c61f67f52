import Checks
import Terminal
import VerbSupport

/// Looks at everything that can be wrong on this machine and in the services that it talks to.
package enum DoctorVerb {
  private static let process = Option(
    "for", .choice(), default: CheckedProcess.worker, value: "PROCESS",
    help: "The process to look at this machine for; devices means audience, device, user, follow "
      + "and tag")
  private static let only = Option<String?>(
    "only", .text, value: "PARTS",
    help: "Look at these parts only, separated by commas: "
      + DoctorPart.allCases.map(\.rawValue).joined(separator: ", "))
  private static let brief = Option(flag: "brief", help: "Print only what is wrong")
  private static let timeout = Option(
    "timeout", .duration(in: .milliseconds(100) ... .seconds(300)), default: .seconds(10),
    help: "The time limit for each question")
  private static let json = Option(flag: "json", help: "Print one JSON object")

  package static let verb = Verb(
    "doctor", summary: "Examine this machine, and the services that a worker needs",
    discussion: """
      Looks at all that fanfare check looks at, and at what makes a deployment fail later: names \
      and addresses, certificates and their ends, clocks, how topics are replicated and what they \
      forget, the state and the lag of the group, the memory, persistence, replicas and latency \
      of Redis, and the limits of this machine. Each line says ok or what is wrong, with the \
      number that was seen, the one that is wanted and how to mend it. All parts run at the same \
      time. Nothing that it writes stays.

      The exit code is 0 if all is well, 1 if something is wrong, and 69 if a service does not \
      answer. With --json each line has an id that stays the same, such as redis.persistence.
      """,
    options: [process, only, brief, timeout, json] + ConfigurationOptions.all,
    examples: [
      .init("fanfare doctor --config fanfare.yaml", "Examine everything"),
      .init("fanfare doctor --only redis,kafka --brief", "Print what is wrong with these"),
      .init(
        "fanfare doctor --json | jq '.checks[] | select(.id == \"redis.memory\")'",
        "Print one answer for a script"),
    ], exitCodes: [.ok, .failed, .unavailable], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let process = invocation[process]
    let parts = try parts(invocation[only])
    let report = invocation.settingsReport(requirements: process.asksApple ? [.credentials] : [])
    let doctor = Doctor(
      report, for: process, timeout: invocation[timeout],
      wallClock: { invocation.nowMilliseconds }, host: HostFacts.current())
    let all = await doctor.run(parts, file: invocation.configurationFile)
    let shown = invocation[brief] ? all.onlyWrong : all
    let code = all.doctorExitCode
    if invocation[json] {
      invocation.output.line(shown.json(ok: code == .ok).serialized())
    } else {
      shown.write(to: invocation.output)
    }
    return code
  }

  private static func parts(_ text: String?) throws(CommandFailure) -> [DoctorPart] {
    guard let text else { return DoctorPart.allCases }
    var parts: [DoctorPart] = []
    for name in text.split(separator: ",") {
      guard let part = DoctorPart(rawValue: String(name)) else {
        let all = DoctorPart.allCases.map(\.rawValue).joined(separator: ", ")
        throw CommandFailure(.usage, "--only takes \(all), separated by commas; not `\(name)`")
      }
      parts.append(part)
    }
    guard !parts.isEmpty else { throw CommandFailure(.usage, "--only names no part") }
    return parts
  }
}
