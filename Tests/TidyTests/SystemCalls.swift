/// Who may ask the system for time, chance or a thread. Everything else is given them, so that a
/// whole deployment can run in virtual time, and a seed repeats its life.
struct SystemCalls {
  /// The files that may, each with what it needs of the system.
  static let askers: [String: String] = [
    // What a loop, a clock and a thread are made of.
    "Sources/Bindings/EventLoop/EventLoop.swift": "a loop without a driver",
    "Sources/Bindings/EventLoop/Poller.swift": "waits for descriptors",
    "Sources/Bindings/Threads/SystemThread.swift": "the one way to a thread",
    "Sources/Telemetry/Measure/Clocks.swift": "the clocks that are handed on",
    "Sources/Telemetry/Measure/ProcessUsage.swift": "CPU time of a process",
    // What a log has when it was given nothing.
    "Sources/Telemetry/Log/Log.swift":
      "the clock of a log by default; the key of a process that was given none",
    "Sources/Telemetry/Redaction/TokenLabel.swift": "a key by chance",
    // What worlds replace: librdkafka, the resolver, certificates, secrets.
    "Sources/Bindings/Kafka/KafkaConsumer.swift":
      "librdkafka blocks while it ends, leaves a group, and asks for offsets",
    "Sources/Bindings/Kafka/KafkaAdmin+Groups.swift": "librdkafka blocks until a deadline",
    "Sources/Bindings/Kafka/KafkaAdmin+Topics.swift": "librdkafka blocks until a deadline",
    "Sources/Bindings/Kafka/KafkaAdmin.swift": "librdkafka blocks until a deadline",
    "Sources/Bindings/Kafka/KafkaReader.swift": "librdkafka blocks until a deadline",
    "Sources/Bindings/Kafka/KafkaProducer.swift": "librdkafka's producer wants to be polled",
    "Sources/Bindings/Transport/NameResolver.swift": "getaddrinfo blocks",
    "Sources/Bindings/TLS/SecretDigest.swift": "secrets by chance",
    "Sources/Bindings/TLS/P256KeyPair.swift": "keys and salts by chance",
    "Sources/Platforms/WebPush/MessageEncryption.swift": "hashes that no stranger can foresee",
    "Sources/Bindings/TLS/ThrowAwayAuthority.swift": "certificates that are valid from now on",
    // Chance that nobody sees: a hash of bytes that never leaves its table, or its file.
    "Sources/Stages/Expand/SeenUsers.swift": "hashes that no stranger can foresee",
    "Sources/Bindings/Redis/RedisScript.swift": "a hash of its source",
    "Sources/Assembly/CertificateCredentials.swift": "the default clock; has the file changed?",
    "Sources/Assembly/ProviderCredentials.swift": "tokens' clock; has the file changed?",
    "Sources/Assembly/FCMCredentialFiles.swift": "tokens' clock and jitter; has the file changed?",
    "Sources/Assembly/TemplateFiles.swift": "have the files changed?",
    "Sources/Assembly/WebPushKeyFiles.swift": "tokens' clock; have the files changed?",
    // Where a process is put together.
    "Sources/Assembly/Assembly+API.swift": "the API's clock",
    "Sources/Assembly/Assembly+Dashboard.swift": "the dashboard's clock",
    "Sources/Assembly/Assembly.swift":
      "the clocks of Deliver and of probes; time zones from now on",
    "Sources/Assembly/WorkerAssembly.swift": "the worker's numbers, its CPU time",
    "Sources/VerbSupport/CommandRunner.swift": "the clock of verbs; the first task",
    "Sources/fanfare/WorkerVerb.swift": "looks at its health now and then",
    "Sources/BackendVerbs/EventFlags.swift": "ids of events that were given none",
    "Sources/InspectionVerbs/TemplatePreviewVerb.swift": "looks again now and then",
    "Sources/BackendVerbs/FanOutVerb.swift": "looks again now and then",
    "Sources/InspectionVerbs/TapVerb.swift": "the key of a tap's hashes",
    "Sources/Topics/TopicCreation.swift": "asks Kafka again until a deadline",
    "Sources/DeadLetters/BlockingCall.swift": "a thread that waits for Kafka",
    "Sources/DeadLetters/LetterTopic.swift": "reads Kafka until a deadline",
    "Sources/API/APIMetrics.swift": "CPU time of the API",
    "Sources/API/Requests/APIKey.swift": "a key is a secret",
    "Sources/Terminal/Process/StopSignals.swift": "a thread that reads signals",
    "Sources/Terminal/Screen/ScreenEvents.swift": "a thread that reads keys and signals",
    // The simulator as a program of its own, and processes on this machine.
    "Sources/APNsSimulator/APNsSimulatorOptions.swift": "the default clock",
    "Sources/SimulatorSupport/SimulatorDirectory.swift": "the age of files",
    "Sources/FCMSimulator/FCMSimulatorOptions.swift": "the default clock",
    "Sources/WebPushSimulator/WebPushSimulatorOptions.swift": "the default clock",
    "Sources/Benchmarks/BenchOptions.swift": "progress that a person sees",
    "Sources/Benchmarks/BenchSender.swift": "measures real time",
    "Sources/Benchmarks/BenchTraffic.swift": "measures real time",
    "Sources/Benchmarks/FCMTraffic.swift": "measures real time",
    "Sources/Benchmarks/WatchedBench.swift": "the dates of a server's answers",
    "Sources/Benchmarks/WebPushTraffic.swift": "measures real time",
    "Sources/Demo/DemoRun.swift": "drives real processes",
    "Sources/LocalStack/LocalStack.swift": "drives real processes",
    "Sources/Processes/ChildProcess.swift": "waits for a process",
    "Sources/Processes/CommandOutput.swift": "waits for a process, on a thread of its own",
    "Sources/Processes/LocalPort.swift": "ports that others hardly pick",
    "Sources/ServerProcesses/RealKafka.swift": "waits for a process",
    "Sources/ServerProcesses/RedisClusterProcess.swift": "waits for a process",
  ]

  /// Of the system, the runtime, and of our own what passes the question on.
  private static let words = [
    // Time.
    "clock_gettime", "clock_getcpuclockid", "gettimeofday", "getrusage", "time(nil", "time(NULL",
    "localtime", "gmtime", "X509_gmtime_adj", "X509_cmp_current_time", "X509_cmp_timeframe",
    "ContinuousClock", "SuspendingClock", "Date()", "Date(timeIntervalSinceNow", "Date.now",
    "DispatchTime", "DispatchWallTime", "CFAbsoluteTime", "ProcessInfo.", "EventLoop.monotonic",
    "WallClock.now", "MonotonicClock.now", "MonotonicClock.nanoseconds", "ProcessUsage.own",
    "ProcessUsage.of",
    // Waiting.
    "usleep", "nanosleep", "clock_nanosleep", "Task.sleep", "Thread.sleep", "timerfd_",
    "poll(nil", "epoll_",
    // Chance.
    "SystemRandomNumberGenerator", "arc4random", "getrandom", "getentropy", "RAND_bytes",
    "RAND_priv_bytes", "drand48", "srand", "UUID()", "SecretDigest.random", "TokenLabelKey.random",
    "Hasher()",
    // Threads.
    "pthread_create", "thrd_create", "DispatchQueue", "DispatchSource", "DispatchGroup",
    "OperationQueue", "Task.detached", "Thread.detach", "SystemThread(", "SystemThread {",
  ]

  /// Methods of anything.
  private static let methods = [
    ".random(", ".randomElement(", ".shuffled(", ".shuffle(", ".hashValue", ".detached(",
  ]

  /// By their bare names.
  private static let calls = ["sleep", "rand", "random_r"]

  /// What a line of code asks for; nil: nothing.
  static func question(in line: String) -> String? {
    words.first { line.hasWord($0) } ?? methods.first { line.mentions($0) }
      ?? calls.first { line.hasCall($0) }
  }

  /// Files that ask and may not, and files that may and do not.
  static func violations(
    in files: [SourceFile], _ askers: [String: String] = askers
  ) -> [Violation] {
    var broken: [Violation] = []
    var asking: Set<String> = []
    for file in files where file.isSource {
      for (index, line) in file.code.enumerated() {
        guard let found = question(in: line) else { continue }
        asking.insert(file.path)
        guard askers[file.path] == nil else { break }
        broken.append(
          file.violation(index + 1, "\(found): time, chance and threads are given, or it is listed")
        )
      }
    }
    let idle = askers.keys.filter { !asking.contains($0) }.sorted()
    return broken
      + idle.map {
        Violation(file: $0, line: 0, rule: "asks the system for nothing any more, and is listed")
      }
  }
}

/// Where work goes through a table in the order of its hashes, and every process draws its hashes.
struct HashOrder {
  /// The rooms whose order of work a world must be able to repeat.
  static let rooms: Set<String> = [
    "Pipeline", "Ingest", "Expand", "Render", "Deliver", "Record", "Redis", "Devices", "Tokens",
    "APNsSimulator", "FCMSimulator", "SimulatorSupport", "WebPushSimulator",
  ]

  static func violations(in file: SourceFile) -> [Violation] {
    guard let room = file.room, rooms.contains(room) else { return [] }
    return file.code.indices.filter { isUnordered(file.code[$0]) }.map {
      file.violation($0 + 1, "the order of a table is chance: sort it, or keep an array")
    }
  }

  private static func isUnordered(_ line: String) -> Bool {
    guard line.hasWord("for "), let start = line.firstRange(of: " in ") else { return false }
    let loop = line[start.upperBound...]
    let sequence = loop.firstRange(of: " where ").map { loop[..<$0.lowerBound] } ?? loop
    guard !sequence.contains("sorted") else { return false }
    return sequence.hasMember("values") || sequence.hasMember("keys")
      || ["Set(", "Dictionary("].contains { String(sequence).hasWord($0) }
  }
}

extension Substring {
  /// Whether a member of exactly this name is read.
  fileprivate func hasMember(_ name: String) -> Bool {
    var rest = self
    while let found = rest.firstRange(of: "." + name) {
      rest = rest[found.upperBound...]
      if !(rest.first.map { $0.isLetter || $0.isNumber || $0 == "_" } ?? false) { return true }
    }
    return false
  }
}
