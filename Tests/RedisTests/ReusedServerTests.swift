import Fixtures
import Testing

/// Servers that several tests of a process get, one after the other.
@Suite struct ReusedServerTests {
  /// The port of a fixture's server, after `commands`, and how many keys it had before.
  private static func use(_ commands: [[String]]) throws -> (port: Int, keys: String) {
    let fixture = try RedisFixture()
    let keys = try fixture.server.cli("DBSIZE")
    for command in commands { try fixture.server.cli(command) }
    return withExtendedLifetime(fixture) { (fixture.server.port, keys) }
  }

  @Test func dataGoesAndTheServerStays() throws {
    let first = try Self.use([["SET", "k", "v"], ["SELECT", "0"]])
    let second = try Self.use([])
    #expect(second.port == first.port && second.keys == "0")
  }

  @Test(arguments: [
    ["CONFIG", "SET", "maxmemory", "100mb"], ["ACL", "SETUSER", "somebody", "on"],
    ["REPLICAOF", "127.0.0.1", "1"],
  ])
  func whoeverWasChangedIsLeft(command: [String]) throws {
    let first = try Self.use([command])
    #expect(try Self.use([]).port != first.port)
  }
}
