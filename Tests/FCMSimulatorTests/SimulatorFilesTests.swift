import FCMSimulator
import Glibc
import Testing

/// The files in the simulator's directory: who may read them, and what of them stays.
@Suite struct SimulatorFilesTests {
  private static let secrets = [
    "server.key", "service-account.json", "service-account.pub.pem", "control.token",
  ]

  private static func start(
    in directory: String, _ change: (inout FCMSimulatorOptions) -> Void = { _ in }
  ) async throws -> Account {
    var options = FCMSimulatorOptions(directory: directory)
    change(&options)
    let simulator = FCMSimulator(options: options, log: { _ in })
    let address = try await simulator.start()
    await simulator.stop()
    return try Account(file: address.serviceAccountFile)
  }

  private static func key(_ account: Account) -> String? {
    account.members["private_key"]?.string
  }

  @Test func secretsAreItsUsersOnly() async throws {
    let parent = try makeDirectory()
    let directory = parent + "/fcm"
    defer {
      removeDirectory(directory)
      rmdir(parent)
    }
    _ = try await Self.start(in: directory)
    for name in [""] + Self.secrets.map({ "/" + $0 }) {
      var status = stat()
      #expect(lstat(directory + name, &status) == 0, "\(name)")
      #expect(status.st_mode & 0o077 == 0, "\(name)")
    }
  }

  @Test func certificatesAndKeySurviveARestart() async throws {
    let directory = try makeDirectory()
    defer { removeDirectory(directory) }
    let first = try await Self.start(in: directory)
    let authority = try readFile(directory + "/ca.pem")
    let again = try await Self.start(in: directory)
    #expect(try readFile(directory + "/ca.pem") == authority)
    #expect(Self.key(first) == Self.key(again) && Self.key(first) != nil)
    // Other names make other certificates, and the key stays.
    let named = try await Self.start(in: directory) { $0.certificateHosts = ["fcm.example"] }
    #expect(try readFile(directory + "/ca.pem") != authority)
    #expect(Self.key(named) == Self.key(first))
  }

  @Test func aKeyThatOthersCouldReadIsMadeAgain() async throws {
    let directory = try makeDirectory()
    defer { removeDirectory(directory) }
    let first = try await Self.start(in: directory)
    chmod(directory + "/service-account.json", 0o644)
    let again = try await Self.start(in: directory)
    #expect(Self.key(first) != Self.key(again))
  }

  @Test func halvesThatDoNotFitAreMadeAgain() async throws {
    let directory = try makeDirectory()
    defer { removeDirectory(directory) }
    let first = try await Self.start(in: directory)
    unlink(directory + "/service-account.pub.pem")
    let again = try await Self.start(in: directory)
    #expect(Self.key(first) != Self.key(again))
  }

  @Test func aServerOnAllAddressesIsNamedAsItsCertificate() async throws {
    let directory = try makeDirectory()
    defer { removeDirectory(directory) }
    let account = try await Self.start(in: directory) {
      $0.host = "0.0.0.0"
      $0.certificateHosts = ["fcm.example"]
    }
    let uri = try #require(account.members["token_uri"]?.string)
    #expect(uri.hasPrefix("https://fcm.example:") && uri.hasSuffix("/token"))
  }
}
