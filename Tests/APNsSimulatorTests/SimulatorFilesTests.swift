import APNsSimulator
import Glibc
import SimulatorSupport
import Testing

/// What the simulator writes holds keys: into nobody else's file, and readable by its user only.
@Suite struct SimulatorFilesTests {
  private static let secrets = [
    "server.key", "AuthKey_SIMULATED1.p8", "client.pem", "client-sandbox.pem",
    "client-production.pem", "control.token",
  ]

  private static func mode(_ path: String) -> UInt32 {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
  }

  private static func write(_ text: String, _ path: String, mode: UInt32) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode)
    _ = Glibc.write(descriptor, text, text.utf8.count)
    fchmod(descriptor, mode)
    close(descriptor)
  }

  private static func run(_ directory: String) async throws {
    let simulator = APNsSimulator(options: APNsSimulatorOptions(directory: directory)) { _ in }
    _ = try await simulator.start()
    await simulator.stop()
  }

  @Test func aDirectoryOfItsOwnIsItsUsersOnly() async throws {
    let parent = try makeDirectory()
    let directory = "\(parent)/apns"
    defer {
      removeDirectory(directory)
      removeDirectory(parent)
    }
    try await Self.run(directory)
    #expect(Self.mode(directory) == 0o700)
    for name in Self.secrets { #expect(Self.mode("\(directory)/\(name)") == 0o600, "\(name)") }
  }

  @Test func symbolicLinksAreNotFollowed() async throws {
    let directory = try makeDirectory()
    let victim = "\(directory)/victim"
    let link = "\(directory)-link"
    defer {
      for path in [victim, link] { unlink(path) }
      removeDirectory(directory)
    }
    Self.write("precious", victim, mode: 0o644)
    for name in Self.secrets + ["ca.pem", "server.pem", "server.hosts"] {
      symlink(victim, "\(directory)/\(name)")
    }
    try await Self.run(directory)
    #expect(try readFile(victim) == "precious")
    #expect(Self.mode(victim) == 0o644)
    for name in Self.secrets { #expect(Self.mode("\(directory)/\(name)") == 0o600, "\(name)") }

    symlink(directory, link)
    await #expect(throws: SimulatorError.self) { try await Self.run(link) }
  }

  @Test func aKeyThatOthersCouldReadIsReplaced() async throws {
    let directory = try makeDirectory()
    defer { removeDirectory(directory) }
    try await Self.run(directory)
    func keys() throws -> [String] { try Self.secrets.map { try readFile("\(directory)/\($0)") } }
    let first = try keys()
    try await Self.run(directory)
    // Only the token is of one run.
    #expect(try keys().dropLast() == first.dropLast())
    for name in Self.secrets { chmod("\(directory)/\(name)", 0o644) }
    try await Self.run(directory)
    let second = try keys()
    for (index, name) in Self.secrets.enumerated() {
      #expect(second[index] != first[index], "\(name)")
      #expect(Self.mode("\(directory)/\(name)") == 0o600, "\(name)")
    }
  }

  /// One of each environment, side by side.
  @Test func simulatorsOfOneDirectoryHaveOneAuthority() async throws {
    let directory = try makeDirectory()
    defer { removeDirectory(directory) }
    try await Self.run(directory)
    let authority = try readFile("\(directory)/ca.pem")
    var options = APNsSimulatorOptions(directory: directory)
    options.isDevelopment = true
    let simulator = APNsSimulator(options: options) { _ in }
    let address = try await simulator.start()
    await simulator.stop()
    #expect(try readFile("\(directory)/ca.pem") == authority)
    #expect(address.misplacedCertificateFile == "\(directory)/client-production.pem")
  }
}
