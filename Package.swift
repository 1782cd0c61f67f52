// swift-tools-version: 6.2
import PackageDescription

/// Every target of ours: Swift 6, warnings are errors, an async function stays on its caller's
/// actor.
let strict: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
]

func cLibrary(_ name: String, pkgConfig: String, apt: String, brew: String) -> Target {
  .systemLibrary(
    name: name, path: "Sources/C/\(name)", pkgConfig: pkgConfig,
    providers: [.apt([apt]), .brew([brew])])
}

func binding(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/Bindings/\(name)",
    swiftSettings: strict)
}

func stage(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(
    name: name, dependencies: ["Model"] + dependencies,
    path: "Sources/Stages/\(name)", swiftSettings: strict)
}

func room(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let cLibraries: [Target] = [
  cLibrary("CRdKafka", pkgConfig: "rdkafka", apt: "librdkafka-dev", brew: "librdkafka"),
  cLibrary("CHiredis", pkgConfig: "hiredis", apt: "libhiredis-dev", brew: "hiredis"),
  cLibrary("CNghttp2", pkgConfig: "libnghttp2", apt: "libnghttp2-dev", brew: "libnghttp2"),
  cLibrary("COpenSSL", pkgConfig: "openssl", apt: "libssl-dev", brew: "openssl@3"),
  cLibrary("CYAML", pkgConfig: "yaml-0.1", apt: "libyaml-dev", brew: "libyaml"),
  cLibrary("CJansson", pkgConfig: "jansson", apt: "libjansson-dev", brew: "jansson"),
  .systemLibrary(name: "CLinux", path: "Sources/C/CLinux"),
]

let bindings: [Target] = [
  binding("EventLoop", ["CLinux"]),
  binding("TLS", ["COpenSSL"]),
  binding("HTTP2", ["CNghttp2"]),
  binding("Transport", ["CLinux", "EventLoop", "TLS"]),
  binding("Redis", ["CHiredis", "EventLoop", "Transport"]),
  binding("Kafka", ["CRdKafka"]),
  binding("JSON", ["CJansson"]),
  binding("YAML", ["CYAML"]),
]

let stages: [Target] = [
  stage("Ingest", ["JSON", "Kafka", "Keyspace"]),
  stage("Expand", ["Keyspace", "Redis"]),
  stage("Render", []),
  stage("Deliver", ["EventLoop", "HTTP2", "JSON", "Transport"]),
  stage("Record", ["Keyspace", "Redis"]),
]

let rooms: [Target] = [
  room("Model"),
  room("Keyspace"),
  room("Terminal"),
  room("Telemetry"),
  room(
    "Pipeline",
    [
      "Model", "Keyspace", "Telemetry", "EventLoop", "Redis", "Kafka", "Ingest", "Expand",
      "Render", "Deliver", "Record",
    ]),
  room("Devices", ["Model", "Keyspace", "Redis"]),
  room("Evaluation"),
  room("APNsSimulator", ["EventLoop", "TLS", "HTTP2", "Transport", "JSON"]),
  room("Settings", ["YAML", "JSON", "Render"]),
]

let fanfare: Target = .executableTarget(
  name: "fanfare",
  dependencies: [
    "CLinux", "EventLoop", "TLS", "HTTP2", "Transport", "Redis", "Kafka", "JSON", "YAML", "Model",
    "Keyspace", "Ingest", "Expand", "Render", "Deliver", "Record", "Pipeline", "Devices",
    "APNsSimulator", "Settings", "Telemetry", "Terminal", "Evaluation",
  ],
  swiftSettings: strict)

/// What tests share: real servers on free ports, child processes, directories that vanish. Not a
/// product.
let testSupport: Target = .target(
  name: "TestSupport", path: "Tests/Support", swiftSettings: strict)

/// A whole small world for tests of the whole way: real Redis, embedded Kafka, the simulator,
/// workers.
let testBed: Target = .target(
  name: "TestBed",
  dependencies: [
    "APNsSimulator", "Deliver", "Devices", "EventLoop", "Expand", "Ingest", "Kafka", "Keyspace",
    "Model", "Pipeline", "Record", "Redis", "Render", "Settings", "TLS", "Telemetry",
    "TestSupport", "Transport",
  ], path: "Tests/Bed", swiftSettings: strict)

let testTargets: [Target] = [
  tests("EventLoopTests", ["EventLoop"]),
  tests("TLSTests", ["TLS"]),
  tests("HTTP2Tests", ["HTTP2"]),
  tests("TransportTests", ["Transport", "EventLoop", "TLS"]),
  tests("RedisTests", ["Redis", "EventLoop", "TLS", "Transport", "TestSupport"]),
  tests("KafkaTests", ["Kafka", "TestSupport"]),
  tests("JSONTests", ["JSON"]),
  tests("YAMLTests", ["YAML"]),
  tests("ModelTests", ["Model"]),
  tests("KeyspaceTests", ["Keyspace"]),
  tests("IngestTests", ["Ingest", "Model", "Kafka", "JSON"]),
  tests(
    "ExpandTests",
    ["Expand", "Model", "Keyspace", "Redis", "EventLoop", "TestSupport", "Transport"]),
  tests("RenderTests", ["Render", "Model", "JSON"]),
  tests("DeliverTests", ["Deliver", "EventLoop", "HTTP2", "Model", "TLS", "Transport"]),
  tests("RecordTests", ["Record", "Model", "Keyspace", "Redis", "EventLoop", "TestSupport"]),
  tests("DevicesTests", ["Devices", "Model", "Keyspace", "Redis", "EventLoop", "TestSupport"]),
  tests("EvaluationTests", ["Evaluation"]),
  tests("SettingsTests", ["Settings", "Render", "YAML", "TestSupport"]),
  tests("TelemetryTests", ["Telemetry"]),
  tests("TerminalTests", ["Terminal"]),
  tests("APNsSimulatorTests", ["APNsSimulator", "TLS", "Transport", "JSON"]),
  tests(
    "PipelineTests",
    [
      "Deliver", "EventLoop", "Expand", "Ingest", "Kafka", "Keyspace", "Model", "Pipeline",
      "Record", "Redis", "Telemetry",
    ]),
  tests(
    "IntegrationTests",
    [
      "APNsSimulator", "Deliver", "Devices", "Kafka", "Model", "Pipeline", "Record", "TLS",
      "Telemetry", "TestBed", "TestSupport", "Transport",
    ]),
  tests(
    "FaultTests",
    [
      "APNsSimulator", "Deliver", "Devices", "Kafka", "Pipeline", "Record", "TestBed",
      "TestSupport", "fanfare",
    ]),
  tests(
    "CommandTests",
    [
      "Deliver", "Expand", "Ingest", "JSON", "Kafka", "Keyspace", "Pipeline", "Redis", "Settings",
      "TLS", "Telemetry", "Terminal", "TestSupport", "Transport", "fanfare",
    ]),
  tests("TidyTests", []),
]

let package = Package(
  name: "fanfare",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "fanfare", targets: ["fanfare"])],
  targets: cLibraries + bindings + stages + rooms + [fanfare, testSupport, testBed] + testTargets,
  swiftLanguageModes: [.v6])
