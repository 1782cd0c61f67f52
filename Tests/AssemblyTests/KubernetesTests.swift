import Checkout
import Kafka
import Settings
import Testing

@testable import Assembly

/// docker/kubernetes says things that the settings and the rooms say, too.
@Suite struct KubernetesTests {
  private static let folder = Checkout.path("docker/kubernetes")

  private func text(_ name: String) throws -> String {
    try BoundedFile.read("\(Self.folder)/\(name)", maximumBytes: 65_536).text
  }

  /// The value behind the last `key: ` of a file.
  private func value(_ key: String, _ name: String) throws -> String {
    let lines = try text(name).split(separator: "\n").map { $0.drop { " -".contains($0) } }
    let line = try #require(lines.last { $0.hasPrefix(key + ": ") }, "\(name) has no \(key)")
    return line.dropFirst(key.count + 2).filter { $0 != "\"" }
  }

  private func report() -> SettingsReport {
    SettingsLoader.load(
      SettingsInput(file: "\(Self.folder)/fanfare.yaml", environment: [:], overrides: []))
  }

  @Test func theConfigurationIsRightButForItsSecrets() {
    let others = report().findings.filter { !"\($0)".contains("cannot be opened") }
    #expect(others.isEmpty, "\(others)")
  }

  @Test func podsHaveTheTimeAndTheMemoryThatWorkersTake() throws {
    let settings = report().read
    let grace = try #require(
      Int(try value("terminationGracePeriodSeconds", "deployment.yaml")))
    // To leave Kafka's group, and to end.
    #expect(Duration.seconds(grace) >= settings.lanes.drainTimeout + .seconds(8))
    let limit = try value("memory", "deployment.yaml")
    let mebibytes = try #require(limit.hasSuffix("Mi") ? Int(limit.dropLast(2)) : nil)
    #expect(mebibytes << 20 > Assembly.memoryBudget(settings).bytes)
  }

  @Test func probesAskWhereWorkersAnswer() throws {
    let settings = report().read
    #expect(settings.probes.host == "0.0.0.0")
    let port = "\(settings.probes.port)"
    #expect(try value("containerPort", "deployment.yaml") == port)
    #expect(try value("prometheus.io/port", "deployment.yaml") == port)
    let deployment = try text("deployment.yaml")
    for path in ["/livez", "/readyz", "/metrics"] {
      #expect(deployment.contains("path: \(path)\n"))
    }
  }

  @Test func theScalerFollowsTheGroupAndTheTopicOfSegments() throws {
    let kafka = report().read.kafka
    #expect(try value("consumerGroup", "scaled-object.yaml") == kafka.group)
    let scaler = try text("scaled-object.yaml")
    for topic in [kafka.topics.segments, kafka.topics.bulkSegments] {
      #expect(scaler.contains("topic: \(topic)\n"))
    }
    #expect(
      try value("bootstrapServers", "scaled-object.yaml")
        == kafka.bootstrapServers.joined(separator: ","))
  }
}
