import Processes
import Testing

@testable import Development

@Suite struct DevelopmentPortsTests {
  private let ports = DevelopmentPorts(base: 4_000)

  @Test func theyStandInARow() {
    #expect(ports.named.map(\.port) == Array(4_000..<4_000 + DevelopmentPorts.count))
    #expect(DevelopmentPorts(base: DevelopmentPorts.maximumBase).browsers == 65_535)
  }

  @Test func freePortsAreTaken() throws {
    try ports.check(canBeListenedOn: { _ in true }, owner: { _ in nil })
  }

  @Test func eachTakenPortIsNamedWithWhoHasIt() throws {
    let error = #expect(throws: LocalRunError.self) {
      try ports.check(
        canBeListenedOn: { $0 != 4_001 && $0 != 4_005 },
        owner: { $0 == 4_001 ? "redis-server (process 812)" : nil })
    }
    #expect(error?.kind == .unavailable)
    #expect(
      error?.findings == [
        "port 4001, for Redis, is taken: redis-server (process 812) has it",
        "port 4005, for the browsers' simulator, is taken: `sudo ss -ltnp 'sport = :4005'` says "
          + "who has it",
      ])
    #expect(error?.message.contains("--port") == true)
  }
}
