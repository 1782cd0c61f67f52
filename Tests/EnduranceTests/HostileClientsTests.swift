import API
import Fixtures
import Glibc
import Processes
import ServerProcesses
import TestBed
import Testing

/// Ten thousand clients that take what they can of the API.
@Suite(.serialized) struct HostileClientsTests {
  private static let waves = 10
  private static let clientsPerWave = 1_000
  /// Places for them: fewer than there are clients at a time.
  private static let connections = 200
  /// A whole request and its answer.
  private static let exchange = "2s"

  private enum Kind: CaseIterable {
    case silent, drippingHead, drippingBody, oversizedBody, oversizedHead, noise, halfClosed
    case twoLengths, wrongKey, gone
  }

  /// What is sent at once; `drip` follows, byte by byte.
  private static func opening(_ kind: Kind, _ key: String) -> String {
    let head =
      "PUT /v1/users/u/devices/00ab HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(key)\r\n"
    switch kind {
    case .silent, .gone: return ""
    case .drippingHead: return head + "X-A: "
    case .drippingBody: return head + "Content-Length: 900\r\n\r\n{"
    case .oversizedBody:
      return head + "Content-Length: 100000000\r\n\r\n" + String(repeating: "x", count: 200_000)
    case .oversizedHead: return head + "X-A: " + String(repeating: "x", count: 100_000)
    case .noise:
      return String(decoding: (0..<2000).map { _ in UInt8.random(in: 0...255) }, as: UTF8.self)
    case .halfClosed: return head + "Content-Length: 900\r\n\r\n{\"topic\""
    case .twoLengths:
      return head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}"
    case .wrongKey: return "GET /v1/users/u HTTP/1.1\r\nAuthorization: Bearer x\r\n\r\n"
    }
  }

  @Test func nobodyHoldsAPlaceAndMemoryStaysFlat() async throws {
    let redis = try RedisServerProcess()
    let directory = try ScratchDirectory()
    let key = APIKey.make(name: "backend", scope: .appServer)
    let keys = directory.path + "/keys"
    try Self.write(key.line + "\n", to: keys)
    let port = try LocalPort.findFree()
    let settings = [
      "redis.port=\(redis.port)", "kafka.bootstrap_servers=127.0.0.1:1", "api.keys_file=\(keys)",
      "api.port=\(port)", "api.maximum_connections=\(Self.connections)",
      "api.exchange_timeout=\(Self.exchange)", "api.idle_timeout=\(Self.exchange)",
      "api.audit=false", "log.level=error",
    ]
    let process = try ChildProcess(
      [WorkerExecutable.path, "api"] + settings.flatMap { ["--set", $0] },
      output: .file(directory.path + "/log"))
    let limit = ContinuousClock.now + .seconds(30)
    while !LocalPort.isListening(port) {
      try #require(ContinuousClock.now < limit && process.isRunning)
    }
    // The API keeps what it opens for its first request, such as its connection to Redis.
    #expect(try Self.isServed(port, key.secret))
    let before = try Self.descriptors(process.processID)
    var memory: [Int] = []
    for wave in 0..<Self.waves {
      try Self.attack(port, key.secret, wave)
      #expect(process.isRunning, "wave \(wave)")
      memory.append(try Self.residentKilobytes(process.processID))
    }
    // The server has yet to read that the last clients closed.
    let closed = ContinuousClock.now + .seconds(10)
    var descriptors = try Self.descriptors(process.processID)
    while descriptors > before, ContinuousClock.now < closed {
      descriptors = try Self.descriptors(process.processID)
    }
    EnduranceBed.report(
      "\(Self.waves * Self.clientsPerWave) hostile clients: \(memory[1] / 1024) MiB after the "
        + "second thousand, \(memory[Self.waves - 1] / 1024) MiB after the last, "
        + "\(descriptors) descriptors open, \(before) before the first")
    #expect(memory[Self.waves - 1] - memory[1] < 8 * 1024)
    #expect(descriptors <= before)
    #expect(process.stop() == 0)
  }

  /// A thousand at once; an honest client is served while they are at it.
  private static func attack(_ port: Int, _ key: String, _ wave: Int) throws {
    var clients: [(kind: Kind, client: RawClient)] = []
    for number in 0..<clientsPerWave {
      let kind = Kind.allCases[number % Kind.allCases.count]
      let client = try RawClient(port: port)
      client.send(opening(kind, key))
      if kind == .halfClosed { client.finishSending() }
      if kind != .gone { clients.append((kind, client)) }
    }
    for step in 0..<4 {
      for (kind, client) in clients where kind == .drippingHead || kind == .drippingBody {
        client.send("x")
      }
      #expect(try isServed(port, key), "wave \(wave).\(step)")
    }
    // Each of them is closed by the server, whatever it does.
    for (kind, client) in clients {
      #expect(client.readToEnd() != nil, "\(kind) holds its place")
    }
  }

  /// Whether an honest client gets its answer.
  private static func isServed(_ port: Int, _ key: String) throws -> Bool {
    let client = try RawClient(port: port)
    client.send(
      "GET /v1/users/u/devices HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(key)\r\n"
        + "Connection: close\r\n\r\n")
    return client.readToEnd()?.hasPrefix("HTTP/1.1 200") == true
  }

  private static func write(_ text: String, to path: String) throws {
    let file = try #require(fopen(path, "w"))
    defer { fclose(file) }
    fputs(text, file)
    fchmod(fileno(file), 0o600)
  }

  private static func residentKilobytes(_ process: pid_t) throws -> Int {
    let file = try #require(fopen("/proc/\(process)/status", "r"))
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, 256, file) != nil {
      let text = String(
        decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      if text.hasPrefix("VmRSS:") { return try #require(Int(text.filter(\.isNumber))) }
    }
    throw POSIXFailure()
  }

  private static func descriptors(_ process: pid_t) throws -> Int {
    let directory = try #require(opendir("/proc/\(process)/fd"))
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    return count
  }

  private struct POSIXFailure: Error {}
}
