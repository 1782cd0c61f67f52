/// The walls: what each room may import of ours, and why. A room stands above all that it imports.
struct ImportTable: Sendable {
  struct Row: Sendable {
    let room: String
    let imports: Set<String>
    let because: String

    init(_ room: String, _ imports: Set<String>, because: String) {
      self.room = room
      self.imports = imports
      self.because = because
    }
  }

  let rows: [Row]

  func row(_ room: String) -> Row? { rows.first { $0.room == room } }

  var rooms: Set<String> { Set(rows.map(\.room)) }

  static let this = ImportTable(rows: cModules + bindings + pure + stages + upperRooms)

  static let cModules: [Row] = [
    "CRdKafka", "CHiredis", "CNghttp2", "COpenSSL", "CYAML", "CJansson", "CLinux",
  ].map { Row($0, [], because: "C modules are a module map and a shim header") }

  /// Each C module and the rooms that may import it: C types leave no binding. CLinux holds system
  /// calls, not a library, so the rooms that speak to the system itself may have it too.
  static let importersOfC: [String: Set<String>] = [
    "CRdKafka": ["Kafka"],
    "CHiredis": ["Redis"],
    "CNghttp2": ["HTTP2"],
    "COpenSSL": ["TLS"],
    "CYAML": ["YAML"],
    "CJansson": ["JSON"],
    "CLinux": ["EventLoop", "Transport", "Terminal", "APNsSimulator", "fanfare"],
  ]

  private static let bindings: [Row] = [
    Row("EventLoop", ["CLinux"], because: "epoll and timers; knows no protocol"),
    Row("TLS", ["COpenSSL"], because: "bytes in, bytes out; never a socket"),
    Row("HTTP2", ["CNghttp2"], because: "bytes in, bytes out; never a socket"),
    Row(
      "Transport", ["CLinux", "EventLoop", "TLS"],
      because: "the one room that joins loop, socket and TLS"),
    Row(
      "Redis", ["CHiredis", "EventLoop", "Transport"],
      because: "RESP rides on our connection and waits on our loop"),
    Row("Kafka", ["CRdKafka"], because: "librdkafka brings its own threads and sockets"),
    Row("JSON", ["CJansson"], because: "a parser"),
    Row("YAML", ["CYAML"], because: "a parser"),
  ]

  private static let pure: [Row] = [
    Row("Model", [], because: "values that cross rooms are pure"),
    Row("Keyspace", [], because: "names of keys are pure"),
    Row("Telemetry", [], because: "every room may log, so it stands on nothing"),
    Row("Terminal", ["CLinux"], because: "asks the system how wide the terminal is; nothing else"),
  ]

  private static let shared: Set<String> = ["Model", "Keyspace", "Telemetry"]

  static let stages: [Row] = [
    Row(
      "Ingest", shared.union(["JSON", "Kafka"]), because: "reads records and decodes the event"),
    Row("Expand", shared.union(["Redis"]), because: "reads followers, bindings and profiles"),
    Row("Render", shared, because: "templates and recipients in, bytes out"),
    Row(
      "Deliver", shared.union(["EventLoop", "HTTP2", "JSON", "Transport"]),
      because: "HTTP/2 over connections, deadlines on the loop, reasons as JSON"),
    Row("Record", shared.union(["Redis"]), because: "writes what was settled"),
  ]

  private static let upperRooms: [Row] = [
    Row(
      "Pipeline",
      shared.union(["EventLoop", "TLS", "Transport", "Redis", "Kafka"]).union(stages.map(\.room)),
      because: "the only room that knows the order; it wires what the stages need"),
    Row(
      "Devices", ["Model", "Keyspace", "Redis"], because: "writes to Redis what Expand reads"),
    Row(
      "APNsSimulator",
      ["CLinux", "EventLoop", "TLS", "HTTP2", "Transport", "JSON", "Telemetry"],
      because: "a server beside the pipeline: it shares bindings with it, and no stage"),
    Row(
      "Evaluation", [],
      because: "judges what a run counted and measured; numbers in, verdicts out"),
    Row(
      "Settings",
      shared.union([
        "YAML", "JSON", "TLS", "Transport", "Redis", "Kafka", "Pipeline",
      ]).union(stages.map(\.room)),
      because: "fills each room's options, so it sees them; none of them sees it"),
    Row(
      "fanfare",
      shared.union([
        "CLinux", "EventLoop", "TLS", "HTTP2", "Transport", "Redis", "Kafka", "JSON", "YAML",
        "Pipeline", "Devices", "APNsSimulator", "Settings", "Terminal", "Evaluation",
      ]).union(stages.map(\.room)),
      because: "wires everything, and touches no C library"),
  ]

  /// What the toolchain brings. Foundation is a rule of its own (`BannedCalls`).
  static let toolchain: Set<String> = [
    "Swift", "Glibc", "Synchronization", "FoundationEssentials", "Foundation", "Dispatch",
  ]

  /// In these rooms every push or every page passes: `Foundation` costs (a `UUID()` alone 2.7 µs),
  /// and its parsers accept what they should refuse.
  static let hotRooms: Set<String> = [
    "EventLoop", "TLS", "HTTP2", "Transport", "Redis", "Kafka", "Model", "Keyspace", "Expand",
    "Render", "Deliver", "Record", "Telemetry",
  ]
}
