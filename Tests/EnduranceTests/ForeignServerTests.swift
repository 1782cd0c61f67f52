import Checkout
import Deliver
import Glibc
import JSON
import Pipeline
import Processes
import TLS
import TestBed
import Testing
import Transport

/// Whole fan-outs to servers that nobody here wrote, in the place of Apple: each looks at requests
/// with the eyes of its own library.
@Suite struct ForeignServerTests {
  private static let living = 3_000
  private static let gone = 60
  private static let putOff = 60

  private static let tokens =
    (0..<living).map { paddedHex($0) }
    + (0..<gone).map { "dead" + paddedHex($0).dropFirst(4) }
    + (0..<putOff).map { "b057" + paddedHex($0).dropFirst(4) }

  /// It answers HEADERS and then an empty DATA frame; it knows nothing of APNs.
  @Test func nghttpd() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: (0..<Self.living).map { paddedHex($0) })
    let server = try ForeignServer(bed) {
      ["nghttpd", "--echo-upload", "-n", "1", "-m", "200", "\($0)", $1.key, $1.certificate]
    }
    let worker = try await server.worker(of: bed)
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.accepted == Self.living && status.isBalanced)
    #expect(await worker.stop())
  }

  /// It verifies the provider token, and tells each connection to go after 100 requests.
  @Test func node() async throws {
    let bed = try await WorkerBed()
    let key = try #require(bed.address.providerKeyFile)
    let server = try ForeignServer(bed) {
      ["node", ForeignServer.script("apns.mjs"), "\($0)", $1.certificate, $1.key, key]
    }
    try await expectExact(bed, server, leastGoaways: 10)
  }

  /// It refuses every frame that RFC 9113 forbids, and is miserly with windows and header tables.
  @Test func pythonH2() async throws {
    let bed = try await WorkerBed()
    let server = try ForeignServer(bed) {
      ["/usr/bin/python3", ForeignServer.script("apns.py"), "\($0)", $1.certificate, $1.key]
    }
    try await expectExact(bed, server, leastGoaways: 0)
  }

  private func expectExact(
    _ bed: WorkerBed, _ server: ForeignServer, leastGoaways: Int
  ) async throws {
    try await bed.follow("s1", tokens: Self.tokens)
    let worker = try await server.worker(of: bed)
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(await worker.stop())
    let seen = try server.stop()
    #expect(seen.violations == [])
    let reached = Self.living + Self.putOff
    #expect(status.accepted == reached && status.isBalanced)
    #expect(status.rejected == ["Unregistered": Self.gone] && status.pruned == Self.gone)
    #expect(seen["accepted"] == reached && seen["doubled"] == 0)
    #expect(seen["gone"] == Self.gone && seen["putOff"] == Self.putOff)
    #expect(status.retried >= Self.putOff)
    #expect(seen["goaways"] >= leastGoaways && seen["connections"] > seen["goaways"])
  }
}

/// A program that plays Apple, with a throw-away certificate.
private final class ForeignServer {
  /// What it has seen: numbers by name, and what it found wrong.
  struct Report {
    let members: JSONObject

    subscript(name: String) -> Int { members[name]?.integer.map { Int($0) } ?? -1 }
    var violations: [String] { members["violations"]?.array?.compactMap(\.string) ?? ["none told"] }
  }

  private let port: Int
  private let authority: String
  private let process: ChildProcess

  init(
    _ bed: WorkerBed, _ command: (Int, ThrowAwayAuthority.Files) -> [String]
  ) throws {
    let own = bed.directory.file("foreign")
    mkdir(own, 0o700)
    let files = try ThrowAwayAuthority(hosts: ["127.0.0.1"]).write(to: own)
    authority = files.authority
    port = try LocalPort.findFree()
    process = try ChildProcess(command(port, files), output: .pipe)
  }

  deinit { process.stop() }

  static func script(_ name: String) -> String {
    Checkout.path("Tests/ForeignServers/" + name)
  }

  func worker(of bed: WorkerBed) async throws -> Worker {
    let security = try ClientSecurity(caFile: authority, alpn: ["h2"])
    let endpoint = Endpoint(host: "127.0.0.1", port: port)
    return try await bed.startWorker {
      $0.deliver.routes = [.production: .init(endpoint: endpoint, tls: security)]
    }
  }

  /// Ends the server. Returns what it says at its end.
  func stop() throws -> Report {
    process.signal(SIGTERM)
    let lines = process.readToEnd().split(separator: "\n")
    let last = try #require(lines.last { $0.hasPrefix("{") })
    return Report(members: try #require(try JSONValue.parse(Array(last.utf8)).object))
  }
}
