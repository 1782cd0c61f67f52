// swift-tools-version: 6.2
import PackageDescription

/// Every target of ours: Swift 6, warnings are errors, an async function stays on its caller's
/// actor. A release leaves out the checks of overlapping accesses at run time, a twentieth of what
/// a push costs; tests have them.
let strict: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
]

/// Of a world in virtual time: it has one thread, and the checks of overlapping accesses at run
/// time would be a fifteenth of what a life costs.
let world = strict + [.unsafeFlags(["-enforce-exclusivity=unchecked"])]

func cLibrary(_ name: String, pkgConfig: String, apt: String, brew: String) -> Target {
  .systemLibrary(
    name: name, path: "Sources/C/\(name)", pkgConfig: pkgConfig,
    providers: [.apt([apt]), .brew([brew])])
}

/// The scripts that a target runs in Redis: `PackageResources.claim_lua` is `Lua/claim.lua`.
let scripts: [Resource] = [.embedInCode("Lua")]

func binding(
  _ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/Bindings/\(name)",
    resources: resources, swiftSettings: strict)
}

func stage(
  _ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/Stages/\(name)",
    resources: resources, swiftSettings: strict)
}

func platform(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/Platforms/\(name)",
    swiftSettings: strict)
}

func room(
  _ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []
) -> Target {
  .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// What tests share; not a product.
func support(
  _ name: String, path: String, settings: [SwiftSetting] = strict,
  _ dependencies: [Target.Dependency]
) -> Target {
  .target(name: name, dependencies: dependencies, path: path, swiftSettings: settings)
}

/// A program for developers; not for users.
func driver(
  _ name: String, path: String, _ dependencies: [Target.Dependency], besides: [String] = []
) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: path, exclude: besides, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

// The walls. What a target names here is what its sources import, no less and no more: a test
// holds each against the other.

let cLibraries: [Target] = [
  cLibrary("CRdKafka", pkgConfig: "rdkafka", apt: "librdkafka-dev", brew: "librdkafka"),
  cLibrary("CHiredis", pkgConfig: "hiredis", apt: "libhiredis-dev", brew: "hiredis"),
  cLibrary("CNghttp2", pkgConfig: "libnghttp2", apt: "libnghttp2-dev", brew: "libnghttp2"),
  cLibrary("COpenSSL", pkgConfig: "openssl", apt: "libssl-dev", brew: "openssl@3"),
  cLibrary("CYAML", pkgConfig: "yaml-0.1", apt: "libyaml-dev", brew: "libyaml"),
  cLibrary("CJansson", pkgConfig: "jansson", apt: "libjansson-dev", brew: "jansson"),
  .systemLibrary(name: "CLinux", path: "Sources/C/CLinux"),
  // Of tests alone: who builds the program needs no Lua.
  .systemLibrary(name: "CLua", path: "Sources/C/CLua"),
]

let bindings: [Target] = [
  binding("Threads", []),
  binding("EventLoop", ["CLinux", "Threads"]),
  binding("TLS", ["COpenSSL"]),
  binding("HTTP2", ["CNghttp2"]),
  binding("Transport", ["CLinux", "EventLoop", "Text", "Threads", "TLS"]),
  binding("Redis", ["CHiredis", "EventLoop", "Text", "Transport"], resources: scripts),
  binding("Kafka", ["CRdKafka", "Threads"]),
  binding("HTTPServer", ["CLinux", "EventLoop", "Text", "Threads", "TLS", "Transport"]),
  binding("JSON", ["CJansson", "Text"]),
  binding("YAML", ["CYAML"]),
]

/// No stage imports another.
let stages: [Target] = [
  stage(
    "Ingest", ["JSON", "Kafka", "Keyspace", "Model", "Text"],
    resources: [.embedInCode("event.schema.json")]),
  stage("Expand", ["Keyspace", "Model", "Redis", "Rules"], resources: scripts),
  stage("Render", ["JSON", "Model", "Text"]),
  stage(
    "Deliver",
    [
      "EventLoop", "HTTP2", "Model", "Telemetry", "Text", "Transport",
    ]),
  stage("Record", ["Keyspace", "Model", "Redis", "Text", "Tokens"], resources: scripts),
]

/// Each answers what Deliver asks of a platform (`PlatformAccount`), and is known to nobody who
/// works on every push.
let platforms: [Target] = [
  platform(
    "APNs", ["Deliver", "EventLoop", "HTTP2", "JSON", "Model", "Text", "Threads", "Transport"]),
  platform(
    "FCM", ["Deliver", "EventLoop", "HTTP2", "JSON", "Model", "Text", "Threads", "Transport"]),
  platform("Legacy", ["APNs", "Deliver", "EventLoop", "Model", "Text", "Transport"]),
  platform(
    "WebPush",
    [
      "Deliver", "HTTP2", "JSON", "Model", "Subscriptions", "Text", "Threads", "TLS", "Transport",
    ]),
]

let rooms: [Target] = [
  room("Text", []),
  room("Model", ["Text", "Threads"]),
  room("Keyspace", ["Text"], resources: scripts),
  room("Tokens", ["Keyspace", "Redis", "Text"], resources: scripts),
  room("Rules", ["Model", "Text"]),
  room("Subscriptions", ["Model", "Text", "TLS"]),
  room("Terminal", ["Text", "Threads"]),
  room("Telemetry", ["Text", "Threads"]),
  room("Spans", ["EventLoop", "JSON", "Model", "Telemetry", "Text", "Threads"]),
  room(
    "Pipeline",
    [
      "Deliver", "EventLoop", "Expand", "Ingest", "Kafka", "Keyspace", "Model", "Record", "Redis",
      "Render", "Spans", "Telemetry", "Text", "Threads",
    ]),
  room(
    "Devices",
    ["JSON", "Keyspace", "Model", "Redis", "Rules", "Subscriptions", "Text", "Tokens"],
    resources: scripts),
  room(
    "Traces",
    [
      "Devices", "Ingest", "JSON", "Keyspace", "Model", "Record", "Redis", "Render", "Rules",
      "Text",
    ]),
  room(
    "APNsSimulator",
    ["EventLoop", "HTTP2", "JSON", "SimulatorSupport", "Telemetry", "Text", "TLS", "Transport"]),
  room(
    "FCMSimulator",
    ["EventLoop", "HTTP2", "JSON", "SimulatorSupport", "Telemetry", "Text", "TLS", "Transport"]),
  room(
    "WebPushSimulator",
    [
      "EventLoop", "HTTP2", "HTTPServer", "JSON", "SimulatorSupport", "Telemetry", "Text",
      "Threads", "TLS", "Transport",
    ]),
  room("SimulatorSupport", ["EventLoop", "HTTP2", "JSON", "Text", "TLS"]),
  room(
    "Dashboard",
    [
      "EventLoop", "HTTPServer", "JSON", "Keyspace", "Model", "Record", "Redis", "Telemetry",
      "Text",
    ], resources: [.embedInCode("Page")]),
  room(
    "API",
    [
      "Dashboard", "DeadLetters", "Devices", "EventLoop", "HTTPServer", "Ingest", "JSON", "Kafka",
      "Keyspace", "Model", "Record", "Redis", "Rules", "Subscriptions", "Telemetry", "Text",
      "Threads", "TLS", "Traces",
    ], resources: scripts),
  room("Probes", ["EventLoop", "HTTPServer", "Telemetry"]),
  room("Settings", ["Text", "YAML"]),
  room(
    "SingleRequests",
    [
      "APNs",
      "Deliver", "EventLoop", "HTTP2", "JSON", "Model", "Telemetry", "Terminal", "Text",
      "Transport",
    ]),
  room("Versions", ["HTTP2", "JSON", "Kafka", "Redis", "TLS", "YAML"]),
  room(
    "Checks",
    [
      "APNs",
      "Assembly", "CLinux", "Deliver", "Devices", "EventLoop", "Kafka", "Keyspace", "Model",
      "Record", "Redis", "Settings", "SingleRequests", "Terminal", "Text", "TLS", "Topics",
      "Transport",
    ]),
  room("Processes", ["CLinux", "EventLoop", "Terminal", "Text", "Threads"]),
  room(
    "ServerProcesses",
    [
      "EventLoop", "HTTP2", "JSON", "Kafka", "Processes", "Redis", "Terminal", "Text", "Threads",
      "TLS", "Transport",
    ]),
  room(
    "LocalStack",
    [
      "Devices", "EventLoop", "Kafka", "Keyspace", "Processes", "Record", "Redis",
      "ServerProcesses", "Telemetry", "Terminal", "Text",
    ]),
  room(
    "Benchmarks",
    [
      "APNs",
      "APNsSimulator", "Deliver", "Devices", "EventLoop", "FCM", "HTTPServer", "Keyspace",
      "LocalStack", "Model", "Processes", "Redis", "ServerProcesses", "SingleRequests",
      "Subscriptions", "Telemetry", "Terminal", "Text", "Threads", "TLS", "Transport", "WebPush",
      "WebPushSimulator",
    ]),
  room(
    "Demo",
    [
      "APNsSimulator", "Devices", "EventLoop", "FCMSimulator", "Keyspace", "LocalStack",
      "Processes", "Record", "Redis", "ServerProcesses", "Telemetry", "Terminal", "TLS",
      "WebPushSimulator",
    ]),
  room(
    "Development",
    [
      "Devices", "EventLoop", "JSON", "LocalStack", "Model", "Processes", "Record",
      "ServerProcesses", "Subscriptions", "Terminal", "Text", "TLS", "WebPushSimulator",
    ]),
  room(
    "Assembly",
    [
      "APNs",
      "API", "Dashboard", "Deliver", "EventLoop", "Expand", "FCM", "HTTPServer", "Ingest", "Kafka",
      "Keyspace", "Legacy", "Model", "Pipeline", "Processes", "Record", "Redis", "Render", "Rules",
      "Settings", "SingleRequests", "Spans", "Subscriptions", "Telemetry", "Text", "Threads", "TLS",
      "Traces",
      "Transport", "Versions", "WebPush", "YAML",
    ]),
  room(
    "VerbSupport",
    [
      "Assembly", "CLinux", "Devices", "EventLoop", "Keyspace", "Probes", "Redis", "Settings",
      "Telemetry", "Terminal", "Text",
    ]),
  room(
    "PushSupport",
    [
      "APNs",
      "Assembly", "Deliver", "JSON", "Model", "Render", "Rules", "Settings", "Subscriptions",
      "Terminal", "Transport", "VerbSupport", "WebPush",
    ]),
  room(
    "DeadLetters",
    [
      "Ingest", "JSON", "Kafka", "Keyspace", "Model", "Redis", "Telemetry", "Text", "Threads",
    ]),
  room("Topics", ["Ingest", "Kafka", "Keyspace"]),
  room(
    "Watching",
    ["EventLoop", "FanOuts", "Keyspace", "Record", "Redis", "Telemetry", "Terminal", "Text"]),
  room("FanOuts", ["Keyspace", "Model", "Record", "Redis", "Terminal", "VerbSupport"]),
  room(
    "Feedback",
    [
      "Deliver", "EventLoop", "Keyspace", "Legacy", "Model", "Record", "Redis", "Terminal",
      "Text", "Transport", "VerbSupport",
    ]),
  room("Emission", ["Ingest", "Kafka", "Model", "Terminal", "Threads"]),
  room(
    "Preview",
    [
      "VerbSupport", "JSON", "Keyspace", "Model", "Redis", "Render", "Rules", "SingleRequests",
      "Telemetry", "Terminal", "Text", "Transport",
    ]),
  room(
    "AppleVerbs",
    [
      "Assembly", "Deliver", "Emission", "Feedback", "Model", "Preview", "PushSupport", "Render",
      "SingleRequests", "Terminal", "Text", "VerbSupport",
    ]),
  room(
    "DeviceVerbs",
    [
      "Assembly", "Devices", "Ingest", "Kafka", "Model", "PushSupport", "Subscriptions",
      "Telemetry", "Terminal", "VerbSupport", "WebPushSimulator",
    ]),
  room(
    "BackendVerbs",
    [
      "API", "Assembly", "DeadLetters", "Emission", "FanOuts", "Kafka", "Model", "Record", "Redis",
      "Telemetry", "Terminal", "Text", "Topics", "VerbSupport",
    ]),
  room(
    "InspectionVerbs",
    [
      "Assembly", "Checks", "Emission", "Model", "Preview", "PushSupport", "Render", "Telemetry",
      "Terminal", "Traces", "VerbSupport", "Versions", "Watching",
    ]),
  room(
    "Conformance",
    [
      "APNsSimulator", "Deliver", "FCM", "FCMSimulator", "JSON", "SingleRequests", "Subscriptions",
      "Text", "TLS", "Transport", "WebPush", "WebPushSimulator",
    ]),
  room(
    "LocalVerbs",
    [
      "APNsSimulator", "Benchmarks", "Conformance", "Demo", "Development", "FCMSimulator",
      "LocalStack", "Processes", "ServerProcesses", "SimulatorSupport", "Telemetry", "Terminal",
      "VerbSupport", "WebPushSimulator",
    ]),
]

let programs: [Target] = [
  program(
    "fanfare",
    [
      "AppleVerbs", "Assembly", "BackendVerbs", "DeviceVerbs", "InspectionVerbs", "LocalVerbs",
      "Pipeline", "Telemetry", "Terminal", "VerbSupport",
    ])
]

let supports: [Target] = [
  // The files of the repository, which tests hold to what the code says.
  support("Checkout", path: "Tests/Checkout", []),
  // What tests of several rooms need: certificates, and a proxy in front of a server.
  support(
    "Fixtures", path: "Tests/Fixtures",
    [
      "EventLoop", "HTTP2", "Kafka", "Processes", "Redis", "ServerProcesses", "Telemetry",
      "Terminal", "Text", "Threads", "TLS", "Transport",
    ]),
  // Every parser of foreign bytes under one name each, with what must hold of what it reads.
  support(
    "FuzzTargets", path: "Tests/FuzzTargets",
    [
      "APNs",
      "API", "APNsSimulator", "Assembly", "Deliver", "Devices", "EventLoop", "Expand", "HTTP2",
      "HTTPServer", "Ingest", "JSON", "Kafka", "Keyspace", "Legacy", "Model", "Record", "Redis",
      "Render", "Rules", "Settings", "SimulatorSupport", "Telemetry", "Text", "Threads",
      "Transport", "YAML",
    ]),
  // Runs one of them on files, or, where it is built so, under libFuzzer.
  driver("Fuzz", path: "Tests/Fuzz", ["FuzzTargets"], besides: ["Corpora", "run"]),
  // A Kafka in memory, whose time and faults are its user's.
  support("MemoryKafka", path: "Tests/MemoryKafka", settings: world, ["Kafka"]),
  // A Redis without a network, a clock or chance, which runs the real scripts.
  support("MemoryRedis", path: "Tests/MemoryRedis", settings: world, ["CLua"]),
  // A whole deployment in one thread and in virtual time.
  support(
    "World", path: "Tests/World", settings: world,
    [
      "APNs",
      "APNsSimulator", "Assembly", "Checkout", "Deliver", "Devices", "EventLoop", "Expand", "FCM",
      "FCMSimulator", "Ingest", "Kafka", "Keyspace", "MemoryKafka", "MemoryRedis", "Model",
      "Pipeline", "Processes", "Record", "Redis", "Render", "SimulatorSupport", "Subscriptions",
      "Telemetry", "Text", "Threads", "TLS", "Transport", "WebPush", "WebPushSimulator",
    ]),
  // Lives many seeds of it: make world.
  driver("WorldTool", path: "Tests/WorldTool", ["Processes", "World"]),
  // A whole small world for tests of the whole way: real Redis, embedded Kafka, the simulator,
  // workers.
  support(
    "TestBed", path: "Tests/Bed",
    [
      "APNs",
      "APNsSimulator", "Assembly", "Checkout", "Deliver", "Devices", "EventLoop", "Expand",
      "Fixtures", "Ingest", "Kafka", "Keyspace", "Model", "Pipeline", "Processes", "Record",
      "Redis", "Render", "ServerProcesses", "Settings", "Telemetry", "Threads", "TLS", "Transport",
    ]),
]

let testTargets: [Target] = [
  tests("ThreadsTests", ["Threads"]),
  tests("EventLoopTests", ["EventLoop", "Threads"]),
  tests("TLSTests", ["Fixtures", "Text", "TLS"]),
  tests("HTTP2Tests", ["HTTP2", "Text"]),
  tests("TransportTests", ["Fixtures", "Transport", "EventLoop", "Threads", "TLS"]),
  tests(
    "RedisTests",
    [
      "EventLoop", "Fixtures", "Processes", "Redis", "ServerProcesses", "Text", "Threads", "TLS",
      "Transport",
    ]),
  tests(
    "MemoryRedisTests",
    [
      "API", "Checkout", "Devices", "Expand", "MemoryRedis", "Processes", "Record", "Redis", "Text",
      "Tokens",
    ]),
  tests(
    "WorldTests",
    [
      "APNsSimulator", "Assembly", "Checkout", "Deliver", "Devices", "EventLoop",
      "Kafka", "Keyspace", "MemoryKafka", "MemoryRedis", "Model", "Pipeline", "Processes",
      "Record", "Redis", "Render", "Rules", "Telemetry", "Transport", "World",
    ]),
  tests("KafkaTests", ["Fixtures", "Kafka", "ServerProcesses", "Text", "Threads"]),
  tests(
    "MemoryKafkaTests",
    ["Fixtures", "Kafka", "MemoryKafka", "ServerProcesses", "Text"]),
  tests("HTTPServerTests", ["EventLoop", "Fixtures", "HTTPServer", "Text", "Threads", "TLS"]),
  tests(
    "DashboardTests",
    [
      "Checkout", "Dashboard", "Fixtures", "HTTPServer", "JSON", "Keyspace", "Redis", "Text",
      "Threads",
    ]),
  tests(
    "APITests",
    [
      "API", "Assembly", "Checkout", "DeadLetters", "Devices", "EventLoop", "Fixtures",
      "HTTPServer", "Ingest", "JSON", "Kafka", "Keyspace", "Model", "Processes", "Redis",
      "ServerProcesses", "Telemetry", "Traces",
    ]),
  tests("ProbesTests", ["Fixtures", "HTTPServer", "Probes", "Telemetry"]),
  tests("JSONTests", ["JSON", "Text"]),
  tests("YAMLTests", ["YAML"]),
  tests("TextTests", ["Text"]),
  tests("ModelTests", ["Model"]),
  tests("LegacyTests", ["Legacy"]),
  tests("KeyspaceTests", ["Checkout", "Keyspace"]),
  tests("RulesTests", ["Model", "Rules", "Text"]),
  tests("IngestTests", ["Checkout", "Ingest", "JSON", "Kafka", "Model", "Text"]),
  tests(
    "ExpandTests",
    [
      "EventLoop", "Expand", "Fixtures", "Keyspace", "Model", "Redis", "Rules", "ServerProcesses",
      "Text", "Threads", "Transport",
    ]),
  tests("RenderTests", ["Checkout", "JSON", "Model", "Render", "Text"]),
  tests(
    "DeliverTests",
    [
      "APNs",
      "Deliver", "EventLoop", "Fixtures", "HTTP2", "Legacy", "Model", "Text", "Threads", "TLS",
      "Transport",
    ]),
  tests("APNsTests", ["APNs", "Deliver", "Fixtures", "Model", "Text"]),
  tests(
    "WebPushTests",
    ["Deliver", "Fixtures", "HTTP2", "Model", "Subscriptions", "Text", "TLS", "WebPush"]),
  tests(
    "FCMTests", ["Deliver", "FCM", "Fixtures", "HTTP2", "JSON", "Model", "Text", "Threads", "TLS"]),
  tests(
    "RecordTests",
    ["Checkout", "Fixtures", "Keyspace", "Model", "Record", "Redis", "ServerProcesses", "Threads"]),
  tests(
    "DevicesTests",
    [
      "Checkout", "Devices", "EventLoop", "Fixtures", "Keyspace", "Model", "Redis",
      "ServerProcesses", "Subscriptions", "Text", "Threads", "Tokens",
    ]),
  tests(
    "TokensTests",
    ["Checkout", "Devices", "Keyspace", "Model", "Redis", "Tokens", "Fixtures"]),
  tests("VersionsTests", ["Versions"]),
  tests(
    "ChecksTests",
    [
      "Checkout", "Checks", "Ingest", "Kafka", "Keyspace", "Processes", "Redis", "Settings",
      "Terminal", "TLS", "Topics", "Transport",
    ]
  ),
  tests("ProcessesTests", ["EventLoop", "Processes", "ServerProcesses", "Threads"]),
  tests("ServerProcessesTests", ["Processes", "ServerProcesses"]),
  tests(
    "LocalStackTests", ["Checkout", "Ingest", "Kafka", "LocalStack", "Processes"]),
  tests("DevelopmentTests", ["Development", "JSON", "Processes", "Record"]),
  tests(
    "DemoTests",
    ["Demo", "Devices", "LocalStack", "Record", "ServerProcesses", "Terminal", "Threads"]),
  tests("BenchmarksTests", ["Benchmarks", "Deliver", "FCM", "Model"]),
  tests("SettingsTests", ["Checkout", "Processes", "Settings", "Text", "YAML"]),
  tests(
    "AssemblyTests",
    [
      "APNs",
      "API", "Assembly", "Checkout", "Dashboard", "Deliver", "EventLoop", "Expand", "FCM",
      "FCMSimulator", "Fixtures", "HTTPServer", "Ingest", "JSON", "Kafka",
      "Keyspace", "Model", "Pipeline", "Processes", "Record", "Redis", "Render", "Rules",
      "Settings", "Subscriptions", "Telemetry", "Text", "Threads", "TLS", "Transport",
      "WebPushSimulator",
    ]),
  tests("TelemetryTests", ["Telemetry", "Text", "Threads", "Fixtures"]),
  tests("TerminalTests", ["Fixtures", "Terminal", "Threads"]),
  tests(
    "APNsSimulatorTests",
    [
      "APNsSimulator", "EventLoop", "Fixtures", "HTTP2", "JSON", "SimulatorSupport", "Telemetry",
      "Text", "Threads", "TLS", "Transport",
    ]),
  tests("SimulatorSupportTests", ["SimulatorSupport", "Text"]),
  tests("SubscriptionsTests", ["Model", "Subscriptions", "Text"]),
  tests(
    "FCMSimulatorTests",
    [
      "EventLoop", "FCMSimulator", "Fixtures", "HTTP2", "JSON", "SimulatorSupport", "Telemetry",
      "Text", "Threads", "TLS", "Transport",
    ]),
  tests(
    "WebPushSimulatorTests",
    [
      "EventLoop", "Fixtures", "HTTP2", "JSON", "Processes", "SimulatorSupport", "Subscriptions",
      "Telemetry", "Text", "Threads", "TLS", "Transport", "WebPush", "WebPushSimulator",
    ]),
  tests(
    "PipelineTests",
    [
      "APNs",
      "API", "Checkout", "Deliver", "EventLoop", "Expand", "Fixtures", "Ingest", "JSON", "Kafka",
      "Keyspace", "Model", "Pipeline", "Record", "Redis", "Render", "ServerProcesses", "Telemetry",
      "Text", "Threads", "Transport",
    ]),
  tests(
    "IntegrationTests",
    [
      "APNs",
      "APNsSimulator", "Assembly", "DeadLetters", "Deliver", "Devices", "EventLoop", "fanfare",
      "Feedback", "Fixtures", "HTTPServer", "Ingest", "JSON", "Kafka",
      "Legacy", "Model", "Pipeline", "Processes", "Record", "Redis", "Render", "Rules",
      "ServerProcesses",
      "Settings", "Telemetry", "TestBed", "Threads", "Traces", "Transport",
    ]),
  tests(
    "FaultTests",
    [
      "APNsSimulator", "Assembly", "Checkout", "Deliver", "Devices", "fanfare", "Fixtures", "JSON",
      "Kafka", "Pipeline", "Processes", "Record", "Redis", "ServerProcesses", "Settings",
      "Telemetry", "TestBed", "Threads",
    ]),
  tests(
    "EnduranceTests",
    [
      "API", "APNsSimulator", "Checkout", "Deliver", "Devices", "fanfare", "Fixtures", "JSON",
      "Kafka", "Keyspace", "Model", "Pipeline", "Processes", "Record", "Redis", "ServerProcesses",
      "Settings", "TestBed", "Text", "Threads", "TLS", "Transport",
    ]),
  tests("PushSupportTests", ["APNs", "PushSupport", "Settings", "Terminal"]),
  tests("VerbSupportTests", ["Devices", "Processes", "Settings", "Terminal", "VerbSupport"]),
  tests(
    "LocalVerbsTests",
    [
      "APNsSimulator", "FCMSimulator", "LocalVerbs", "Processes", "Terminal", "Threads",
      "WebPushSimulator",
    ]),
  tests(
    "FeedbackTests",
    ["Deliver", "EventLoop", "Feedback", "Fixtures", "Legacy", "TLS", "Transport"]),
  tests("EmissionTests", ["Emission", "Ingest", "Kafka", "Processes", "Terminal"]),
  tests(
    "SingleRequestsTests",
    [
      "APNs", "Checkout", "Deliver", "FCM", "JSON", "Model", "SingleRequests", "TLS", "Terminal",
      "Transport",
    ]),
  tests(
    "AppleVerbsTests",
    [
      "AppleVerbs", "JSON", "Model", "Processes", "PushSupport", "Render", "SingleRequests",
      "Terminal", "Text", "Threads", "VerbSupport", "WebPushSimulator",
    ]),
  tests("DeviceVerbsTests", ["DeviceVerbs", "Devices", "Terminal", "Threads"]),
  tests(
    "ConformanceTests",
    [
      "APNs",
      "APNsSimulator", "Conformance", "Deliver", "FCMSimulator", "Model", "Processes",
      "SingleRequests", "Telemetry", "TLS", "WebPushSimulator",
    ]),
  tests("SpansTests", ["EventLoop", "JSON", "Model", "Spans", "Telemetry", "Threads"]),
  tests("TracesTests", ["Devices", "Model", "Record", "Rules", "Traces"]),
  tests(
    "DeadLettersTests",
    ["DeadLetters", "Fixtures", "Ingest", "Kafka", "Keyspace", "Model", "Redis", "Threads"]),
  tests("TopicsTests", ["Ingest", "Kafka", "ServerProcesses", "Topics"]),
  tests(
    "WatchingTests",
    ["FanOuts", "Fixtures", "Keyspace", "Record", "Redis", "Terminal", "Watching"]),
  tests("FanOutsTests", ["FanOuts", "Model", "Record", "Terminal", "Threads"]),
  tests(
    "PreviewTests",
    ["Assembly", "Emission", "Ingest", "JSON", "Model", "Preview", "Render", "Terminal"]),
  tests(
    "CommandTests",
    [
      "Checkout", "fanfare", "FCMSimulator", "Fixtures", "Ingest", "JSON", "Kafka", "Model",
      "Processes",
      "Redis", "ServerProcesses", "Settings", "Terminal", "TLS", "WebPushSimulator",
    ]),
  tests("FuzzTargetsTests", ["Checkout", "FuzzTargets"]),
  tests("TidyTests", ["Checkout"]),
]

let package = Package(
  name: "fanfare",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "fanfare", targets: ["fanfare"])],
  targets: cLibraries + bindings + stages + platforms + rooms + programs + supports + testTargets,
  swiftLanguageModes: [.v6])
