import Checkout
import Foundation
import Keyspace
import Redis
import Testing

@testable import Checks

@Suite struct RedisPermissionsTests {
  /// Those with which every connection begins are tried by every connection.
  private static let ofConnections: Set = ["PING", "ROLE", "SELECT", "CLIENT|SETNAME", "INFO"]

  @Test(arguments: [
    (CheckedProcess.worker, "fanfare"), (.api, "api"), (.devices, "audience"),
    (.fanout, "operator"),
  ])
  func theUserOfTheDocumentationMayDoWhatIsTriedAndNoMore(
    process: CheckedProcess, user: String
  ) throws {
    let page = try Checkout.text("docs/redis.md")
    let start = try #require(page.range(of: "ACL SETUSER \(user) on"))
    let end = try #require(page[start.upperBound...].range(of: "redis-cli"))
    let granted = page[start.upperBound..<end.lowerBound].split { $0 == " " || $0 == "\n" }
      .map { $0.trimmingPrefix("'") }
      .filter { $0.hasPrefix("+") }
      .map { $0.dropFirst().replacing("'", with: "").uppercased() }
    let tried = RedisPermissions.commands(Keyspace(), RedisOptions(), for: process).map {
      $0[0] == "SCRIPT" ? "SCRIPT|\($0[1])" : $0[0]
    }
    #expect(granted.count > (process == .fanout ? 10 : 30))
    #expect(Set(granted).subtracting(Self.ofConnections) == Set(tried))
  }

  @Test(arguments: CheckedProcess.allCases) func nothingIsLeftBehind(process: CheckedProcess) {
    var isThere = false
    for command in RedisPermissions.commands(Keyspace(), RedisOptions(), for: process) {
      switch command[0] {
      // It makes no key.
      case "ZADD" where command[2] == "XX": break
      case "SADD", "HSET", "ZADD", "XADD": isThere = true
      case "DEL", "UNLINK": isThere = false
      case "HDEL" where process == .fanout: isThere = false
      default: break
      }
    }
    #expect(!isThere)
  }
}
