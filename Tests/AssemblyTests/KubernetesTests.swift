import Checkout
import Glibc
import Kafka
import Pipeline
import Processes
import Settings
import TLS
import Testing

@testable import Assembly

/// A folder of manifests for Kubernetes.
struct Manifests: CustomTestStringConvertible {
  let folder: String
  let verb: String

  static let worker = Manifests(folder: "docker/kubernetes/worker", verb: "worker")
  static let api = Manifests(folder: "docker/kubernetes/api", verb: "api")
  static let dashboard = Manifests(folder: "docker/kubernetes/dashboard", verb: "dashboard")

  static let monitoring = Manifests(folder: "docker/kubernetes/monitoring", verb: "monitoring")

  var testDescription: String { verb }

  func text(_ name: String) throws -> String {
    try Checkout.text("\(folder)/\(name)")
  }

  /// The values behind each `key: ` of a file.
  func values(_ key: String, _ name: String) throws -> [String] {
    try text(name).split(separator: "\n").map { $0.drop { " -".contains($0) } }
      .filter { $0.hasPrefix(key + ": ") }
      .map { $0.dropFirst(key.count + 2).filter { $0 != "\"" } }
  }

  /// The last of them.
  func value(_ key: String, _ name: String) throws -> String {
    try #require(values(key, name).last, "\(name) has no \(key)")
  }

  func report() -> SettingsReport {
    SettingsLoader.load(
      SettingsInput(file: Checkout.path("\(folder)/fanfare.yaml"), environment: [:], overrides: []))
  }

  func memoryLimit() throws -> Int {
    let limit = try value("memory", "deployment.yaml")
    return try #require(limit.hasSuffix("Mi") ? Int(limit.dropLast(2)) : nil) << 20
  }

  /// What a pod is given to end.
  func grace() throws -> Duration {
    .seconds(try #require(Int(try value("terminationGracePeriodSeconds", "deployment.yaml"))))
  }
}

/// docker/kubernetes says things that the settings and the rooms say, too.
@Suite struct KubernetesTests {
  @Test(arguments: [Manifests.worker, .api, .dashboard])
  func theConfigurationIsRightButForItsSecrets(of manifests: Manifests) {
    let others = manifests.report().findings.filter { !"\($0)".contains("cannot be opened") }
    #expect(others.isEmpty, "\(others)")
  }

  @Test(arguments: [Manifests.worker, .api, .dashboard])
  func probesAskWhereTheProcessAnswers(of manifests: Manifests) throws {
    let settings = manifests.report().read
    #expect(settings.probes.host == "0.0.0.0")
    let port = "\(settings.probes.port)"
    #expect(try manifests.value("containerPort", "deployment.yaml") == port)
    #expect(try manifests.value("prometheus.io/port", "deployment.yaml") == port)
    let deployment = try manifests.text("deployment.yaml")
    let readiness = manifests.verb == "worker" ? "/readyz" : "/startupz"
    for path in ["/livez", readiness, "/metrics"] {
      #expect(deployment.contains("path: \(path)\n"))
    }
    #expect(deployment.contains("args: [\"\(manifests.verb)\", \"--config\""))
  }

  /// A file that is not mounted would be found out by the first pod.
  @Test(arguments: [Manifests.worker, .api, .dashboard])
  func eachFileOfTheConfigurationIsMounted(of manifests: Manifests) throws {
    let mounts = try manifests.values("mountPath", "deployment.yaml")
    let files = try manifests.text("fanfare.yaml").split(separator: "\n")
      .filter { $0.contains(": /") && !$0.hasPrefix("#") }
      .compactMap { $0.firstIndex(of: "/").map($0.suffix(from:)) }
    #expect(files.count == ["worker": 3, "api": 5, "dashboard": 4][manifests.verb])
    for file in files.map(String.init) + ["/etc/fanfare/fanfare.yaml"] {
      #expect(mounts.contains { file == $0 || file.hasPrefix($0 + "/") }, "\(file)")
    }
    #expect(
      try manifests.values("secretName", "deployment.yaml").allSatisfy {
        try manifests.text("kustomization.yaml").contains(" \($0) ")
      })
  }

  /// Who is named is one of those that the page of Redis tells to make.
  @Test(arguments: [Manifests.worker, .api, .dashboard])
  func theUserOfRedisIsADocumentedOne(of manifests: Manifests) throws {
    let user = try #require(manifests.report().read.redis.username)
    #expect(user == (manifests.verb == "worker" ? "fanfare" : manifests.verb))
    #expect(try Checkout.text("docs/redis.md").contains("ACL SETUSER \(user) on "))
  }

  /// As Kubernetes does it: the directory of the secret is a link that is set to another one. A
  /// `key_id` anywhere would stay behind.
  @Test func anotherKeyInTheSecretIsUsedUnderItsOwnID() throws {
    let directory = try ScratchDirectory()
    let create = try Manifests.worker.text("kustomization.yaml").split(separator: "\n")
      .first { $0.contains("generic fanfare-apns") }
    let file = try #require(create?.firstMatch(of: /--from-file=(\S+)/)?.1)
    var settings = Manifests.worker.report().read
    #expect(settings.apns.keyFile == "/run/secrets/fanfare/apns")
    settings.apns.keyFile = directory.file("apns")
    mkdir(directory.file("apns"), 0o755)
    func mount(_ name: String, as version: String) throws {
      mkdir(directory.file("apns/\(version)"), 0o755)
      try directory.write(ES256Key.generate().privateKeyPEM, to: "apns/\(version)/\(name)")
      symlink(version, directory.file("apns/next"))
      rename(directory.file("apns/next"), directory.file("apns/..data"))
      symlink("..data/\(name)", directory.file("apns/\(name)"))
    }
    try mount(String(file), as: "..v1")
    let credentials = try ProviderCredentials(settings)
    #expect(credentials.tokens.keyID == "ABC123DEFG")
    try mount("AuthKey_JKL456MNOP.p8", as: "..v2")
    unlink(directory.file("apns/\(file)"))
    #expect(credentials.look() == .replaced("key JKL456MNOP of team DEF123GHIJ"))
  }

  /// Beside a file whose name says the id.
  @Test func nothingThatIsShippedPinsTheIDOfAKey() throws {
    let files = ["README.md", "docker/compose.yaml", "docker/kubernetes/worker/fanfare.yaml"]
    for file in files {
      let text = try Checkout.text(file)
      #expect(!text.contains("\n  key_id:") && !text.contains("APNS_KEY_ID"), "\(file)")
    }
  }

  @Test(arguments: [Manifests.worker, .api])
  func theScalerAloneSaysHowManyThereAre(of manifests: Manifests) throws {
    #expect(try manifests.values("replicas", "deployment.yaml").isEmpty)
  }

  @Test(arguments: [Manifests.worker, .api, .dashboard, .monitoring])
  func eachManifestIsApplied(by manifests: Manifests) throws {
    let kustomization = try manifests.text("kustomization.yaml")
    for name in try Checkout.names(in: manifests.folder) where name.hasSuffix(".yaml") {
      #expect(
        name == "kustomization.yaml" || kustomization.contains("  - \(name)\n"), "\(name)")
    }
  }

  @Test func podsHaveTheTimeAndTheMemoryThatWorkersTake() throws {
    let settings = Manifests.worker.report().read
    // To leave Kafka's group, and to end.
    #expect(try Manifests.worker.grace() >= settings.lanes.drainTimeout + .seconds(8))
    #expect(try Manifests.worker.memoryLimit() > Assembly.memoryBudget(settings).bytes)
  }

  /// The overlay has a configuration and a size of its own.
  @Test func theExamplesPodsHaveTheMemoryThatItsWorkersTake() throws {
    let example = Manifests(folder: "docker/kubernetes/example", verb: "worker")
    let file = Checkout.path("\(example.folder)/worker.yaml")
    let settings = SettingsLoader.load(
      SettingsInput(file: file, environment: [:], overrides: [])
    ).read
    #expect(settings.lanes.count == 4)
    let limit = try example.value("memory", "worker-size.yaml")
    let mebibytes = try #require(limit.hasSuffix("Mi") ? Int(limit.dropLast(2)) : nil)
    #expect(mebibytes << 20 > Assembly.memoryBudget(settings).bytes)
    #expect(try Manifests.worker.grace() >= settings.lanes.drainTimeout + .seconds(8))
  }

  /// The address, the port and the certificate of the command line and of the Service agree.
  @Test func theDashboardIsServedWithACertificateAndKeys() throws {
    let settings = Manifests.dashboard.report().read
    #expect(settings.api.keysFile != nil && settings.api.tls.certificateFile != nil)
    let deployment = try Manifests.dashboard.text("deployment.yaml")
    #expect(deployment.contains("\"--address\", \"0.0.0.0\", \"--port\", \"8443\"]"))
    #expect(deployment.contains("- name: https\n              containerPort: 8443\n"))
    #expect(try Manifests.dashboard.value("targetPort", "service.yaml") == "https")
  }

  @Test func podsHaveTheTimeAndTheMemoryThatTheAPITakes() throws {
    let settings = Manifests.api.report().read
    // It answers who has asked, once nobody is sent to it any more.
    let sleep = try #require(Int(try Manifests.api.value("seconds", "deployment.yaml")))
    #expect(
      try Manifests.api.grace() >= .seconds(sleep) + settings.api.exchangeTimeout + .seconds(8))
    #expect(try Manifests.api.memoryLimit() >= 2 * Assembly.maximumBodiesBytes)
  }

  @Test func theServiceLeadsToTheAPI() throws {
    let settings = Manifests.api.report().read
    #expect(settings.api.host == "0.0.0.0")
    let target = try Manifests.api.value("targetPort", "service.yaml")
    let deployment = try Manifests.api.text("deployment.yaml")
    #expect(
      deployment.contains(
        "- name: \(target)\n              containerPort: \(settings.api.port)\n"))
    let name = try Manifests.api.values("name", "deployment.yaml")[0]
    #expect(
      try Manifests.api.values("name", "autoscaler.yaml").allSatisfy { [name, "cpu"].contains($0) })
  }

  /// Both are for the way from no pod to one.
  @Test func theScalerHasNoSettingThatDoesNothing() throws {
    let scaler = try Manifests.worker.text("scaled-object.yaml")
    #expect(try Manifests.worker.value("minReplicaCount", "scaled-object.yaml") != "0")
    for key in ["pollingInterval", "cooldownPeriod"] { #expect(!scaler.contains("\n  \(key):")) }
  }

  /// Each pod once, by the port that has metrics, under the job that all configurations name.
  @Test(arguments: [Manifests.worker, .api])
  func prometheusFindsEachPodOnce(of manifests: Manifests) throws {
    let job = "fanfare-\(manifests.verb)"
    let monitor = manifests.verb == "api" ? "service-monitor.yaml" : "pod-monitor.yaml"
    #expect(try Manifests.monitoring.value("port", monitor) == "probes")
    #expect(try Manifests.monitoring.value("path", monitor) == "/metrics")
    #expect(try Manifests.monitoring.value("replacement", monitor) == job)
    let deployment = try manifests.text("deployment.yaml")
    #expect(deployment.contains("- name: probes\n              containerPort: "))
    let watched = manifests.verb == "api" ? "service.yaml" : monitor
    #expect(
      try Manifests.monitoring.values("app.kubernetes.io/component", watched).last == manifests.verb
    )
    #expect(
      try Manifests.monitoring.value("app.kubernetes.io/component", "service-monitor.yaml")
        == Manifests.monitoring.values("app.kubernetes.io/component", "service.yaml")[0])
    #expect(try Checkout.text("docker/prometheus/prometheus.yaml").contains("job_name: \(job)\n"))
    #expect(
      try Checkout.text("docker/prometheus/kubernetes.yaml").contains("replacement: fanfare-$1\n"))
  }

  @Test func theScalerFollowsTheGroupAndTheTopicOfSegments() throws {
    let kafka = Manifests.worker.report().read.kafka
    #expect(try Manifests.worker.value("consumerGroup", "scaled-object.yaml") == kafka.group)
    let scaler = try Manifests.worker.text("scaled-object.yaml")
    for topic in [kafka.topics.segments, kafka.topics.bulkSegments] {
      #expect(scaler.contains("topic: \(topic)\n"))
    }
    #expect(
      try Manifests.worker.value("bootstrapServers", "scaled-object.yaml")
        == kafka.bootstrapServers.joined(separator: ","))
  }
}
