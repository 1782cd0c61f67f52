import Processes
import ServerProcesses
import Terminal
import VerbSupport

/// librdkafka's mock cluster as a process: what the demo, the bench and tests take for Kafka.
package enum BrokerVerb {
  private static let topics = Option(
    "topics", .topics, default: LocalServers.topics, value: "NAME:PARTITIONS,...",
    help: "The topics to create")

  private static let port = Option(
    "port", .integer(in: 0...65_535), default: 0,
    help: "The port to listen on at 127.0.0.1; 0 means any free one")

  package static let verb = Verb(
    "broker", summary: "Run an embedded Kafka broker, for demos and tests",
    discussion: """
      Runs one broker on 127.0.0.1, for other processes and their consumer groups. It keeps \
      everything in memory, and at most the last 5 MiB of each partition. Do not use it for data \
      that matters. With --port, all traffic uses that port, so you can forward it from another \
      machine or into a container.

      When it is ready, it prints one line of JSON on standard output: \
      {"bootstrap_servers":"127.0.0.1:PORT"}. It runs until SIGTERM or SIGINT.
      """,
    options: [port, topics, ProcessOptions.dieWithParent],
    examples: [
      .init("fanfare broker --port 9092", "Create the topics that the worker expects"),
      .init("fanfare broker --topics events:1,events.segments:16", "Create other topics"),
    ], exitCodes: [.ok, .failed], handler: run)

  private static func run(
    _ invocation: Invocation
  ) async throws(CommandFailure) -> ExitCode {
    invocation.obeyParent()
    let signals = StopSignals.catchAll()
    try await CommandFailure.from { () async throws(LocalRunError) in
      try await BrokerService.run(
        invocation[topics], port: invocation[port], ready: { tell($0, invocation) },
        until: { await signals.wait() })
    }
    return .ok
  }

  private static func tell(_ servers: String, _ invocation: Invocation) {
    let line: JSONOutput = ["bootstrap_servers": .text(servers)]
    invocation.output.line(line.serialized())
    if invocation.errors.capabilities.isTerminal {
      invocation.errors.line("Kafka is at \(servers); Ctrl-C ends it.")
    }
  }
}

extension ValueParser where Value == [BrokerTopic] {
  fileprivate static var topics: ValueParser {
    ValueParser(
      kind: .text,
      parse: { (text: String) throws(ValueRefusal) in
        let parts = text.split(separator: ",")
        let topics = parts.compactMap { BrokerTopic($0) }
        guard topics.count == parts.count else {
          throw ValueRefusal("it must be NAME:PARTITIONS, several separated by commas")
        }
        guard !topics.isEmpty else { throw ValueRefusal("it must name at least one topic") }
        return topics
      }, show: { $0.map(\.description).joined(separator: ",") })
  }
}
