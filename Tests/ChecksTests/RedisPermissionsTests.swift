import Checkout
import Foundation
import Testing

@testable import Checks

@Suite struct RedisPermissionsTests {
  /// Those with which every connection begins are tried by every connection.
  private static let ofConnections: Set = ["PING", "ROLE", "SELECT", "CLIENT|SETNAME", "INFO"]
  /// With which one begins that is told of writes.
  private static let ofTracking: Set = ["CLIENT|ID", "CLIENT|TRACKING", "SUBSCRIBE"]

  @Test func theWorkersUserOfTheDocumentationMayDoWhatIsTriedAndNoMore() throws {
    let page = try Checkout.text("docs/redis.md")
    let start = try #require(page.range(of: "ACL SETUSER fanfare on"))
    let end = try #require(page[start.upperBound...].range(of: "redis-cli"))
    let granted = page[start.upperBound..<end.lowerBound].split { $0 == " " || $0 == "\n" }
      .map { $0.trimmingPrefix("'") }
      .filter { $0.hasPrefix("+") }
      .map { $0.dropFirst().replacing("'", with: "").uppercased() }
    let tried = RedisPermissions.commands("k").map {
      $0[0] == "SCRIPT" ? "SCRIPT|\($0[1])" : $0[0]
    }
    #expect(granted.count > 30)
    let ofSnapshots = SnapshotChecks.commands("k").map { $0[0] }
    #expect(
      Set(granted).subtracting(Self.ofConnections).subtracting(Self.ofTracking)
        == Set(tried + ofSnapshots))
  }

  @Test func nothingIsLeftBehind() {
    var isThere = false
    for command in RedisPermissions.commands("k") {
      switch command[0] {
      case "SADD", "HSET", "ZADD", "XADD": isThere = true
      case "DEL": isThere = false
      default: break
      }
    }
    #expect(!isThere)
  }
}
