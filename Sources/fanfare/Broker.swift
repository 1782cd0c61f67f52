import EventLoop
import Kafka
import LocalStack
import Terminal
import Text
import Transport

/// librdkafka's mock cluster as a process: what the demo, the bench and tests take for Kafka.
enum BrokerVerb {
  struct Topic: Sendable {
    let name: String
    let partitions: Int
  }

  private static let topics = Option(
    "topics", .topics,
    default: [
      Topic(name: "notify-followers", partitions: 4),
      Topic(name: "notify-followers.segments", partitions: 8),
      Topic(name: "notify-followers.stragglers", partitions: 4),
      Topic(name: "notify-followers.dead-letters", partitions: 1),
    ], value: "NAME:PARTITIONS,...", help: "The topics to make")

  private static let port = Option(
    "port", .integer(in: 0...65_535), default: 0,
    help: "The port of 127.0.0.1 where clients find it; 0: any free one")

  static let verb = Verb(
    "broker", summary: "Run an embedded Kafka broker, for demos and tests",
    discussion: """
      One broker on 127.0.0.1 that serves other processes and consumer groups, and keeps \
      everything in memory: of a partition the last 5 MiB. Not for data that matters. With --port, \
      everything goes by that port: it may be forwarded, from another machine or into a container.

      When it is ready it prints one line of JSON on standard output: \
      {"bootstrap_servers":"127.0.0.1:PORT"}. It runs until SIGTERM or SIGINT.
      """,
    options: [port, topics, ProcessOptions.dieWithParent],
    examples: [
      .init("fanfare broker --port 9092", "With the topics that the worker expects"),
      .init("fanfare broker --topics events:1,events.segments:16", "With others"),
    ], exitCodes: [.ok, .failed]
  ) { invocation in
    await invocation.reporting { () async throws(CommandFailure) in try await run(invocation) }
  }

  private static func run(
    _ invocation: Invocation
  ) async throws(CommandFailure) -> ExitCode {
    invocation.obeyParent()
    let signals = StopSignals.catchAll()
    let broker: EmbeddedBroker
    do {
      broker = try EmbeddedBroker(
        topics: invocation[topics].map { (name: $0.name, partitions: $0.partitions) })
    } catch {
      throw CommandFailure(.failed, "\(error)")
    }
    if invocation[port] == 0 {
      tell(broker.bootstrapServers, invocation)
      await signals.wait()
    } else {
      try await forward(invocation[port], to: broker.bootstrapServers, invocation, until: signals)
    }
    withExtendedLifetime(broker) {}
    return .ok
  }

  /// librdkafka's mock cluster takes no port: whatever comes to the given one goes to the one it
  /// has.
  private static func forward(
    _ port: Int, to servers: String, _ invocation: Invocation, until signals: StopSignals
  ) async throws(CommandFailure) {
    let own = servers.split(separator: ":").last.flatMap { Int($0) } ?? 0
    try await EventLoop.temporary("command") {
      (_: isolated LoopActor, loop: EventLoop) async throws(CommandFailure) in
      let forwarder: BrokerForwarder
      do {
        forwarder = try BrokerForwarder(
          port: port, to: Endpoint(host: "127.0.0.1", port: own), loop: loop)
      } catch {
        throw CommandFailure(.failed, "\(error)")
      }
      defer { forwarder.close() }
      tell("127.0.0.1:\(port)", invocation)
      await signals.wait()
    }
  }

  private static func tell(_ servers: String, _ invocation: Invocation) {
    let line: JSONOutput = ["bootstrap_servers": .text(servers)]
    invocation.output.line(line.serialized())
    if invocation.errors.capabilities.isTerminal {
      invocation.errors.line("Kafka is at \(servers); Ctrl-C ends it.")
    }
  }
}

extension ValueParser where Value == [BrokerVerb.Topic] {
  fileprivate static var topics: ValueParser {
    ValueParser(
      kind: .text,
      parse: { (text: String) throws(ValueRefusal) in
        var topics: [BrokerVerb.Topic] = []
        for part in text.split(separator: ",") {
          let sides = part.split(separator: ":", omittingEmptySubsequences: false)
          guard sides.count == 2, let partitions = Int(sides[1]), (1...1_000).contains(partitions),
            isTopicName(sides[0])
          else {
            throw ValueRefusal("it must be NAME:PARTITIONS, several separated by commas")
          }
          topics.append(BrokerVerb.Topic(name: String(sides[0]), partitions: partitions))
        }
        guard !topics.isEmpty else { throw ValueRefusal("it must name at least one topic") }
        return topics
      }, show: { $0.map { "\($0.name):\($0.partitions)" }.joined(separator: ",") })
  }

  /// Kafka's own rule.
  private static func isTopicName(_ name: Substring) -> Bool {
    (1...249).contains(name.utf8.count) && name != "." && name != ".."
      && name.utf8.allSatisfy { $0.isASCIIWord || "-._".utf8.contains($0) }
  }
}
