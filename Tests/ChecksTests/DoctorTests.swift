import Settings
import Terminal
import Testing
import Transport

@testable import Checks

@Suite struct DoctorTests {
  private static let host = HostFacts(
    descriptors: 1 << 20, ephemeralPorts: nil, processors: 4, memoryLimit: nil, isClockKept: true,
    clockError: .zero, hasTimeZones: true)

  private func doctor(_ overrides: [(key: String, value: String)]) -> Doctor {
    let report = SettingsLoader.load(SettingsInput(environment: [:], overrides: overrides))
    return Doctor(
      report, for: .worker, timeout: .seconds(60), wallClock: { 0 }, host: Self.host,
      names: NameResolver { _ in .failure(TransportError(.unresolved, "no such name")) })
  }

  @Test func partsComeInTheirOrder() async {
    let list = await doctor([]).run([.dns, .host, .files], file: nil)
    var areas: [String] = []
    for item in list.items where areas.last != item.area { areas.append(item.area) }
    #expect(areas == ["configuration", "templates", "key", "memory", "crash", "host", "dns"])
    let one = await doctor([]).run([.host], file: nil)
    #expect(one.items.allSatisfy { $0.area == "host" } && !one.items.isEmpty)
  }

  /// A mistake in one section says nothing of the others.
  @Test func aWrongSectionIsNotConnectedTo() async {
    let list = await doctor([("redis.port", "x"), ("kafka.session_timeout", "x")])
      .run([.redis, .kafka], file: nil)
    #expect(list.items.map(\.id) == ["kafka.connection", "redis.connection"])
    #expect(list.items.allSatisfy { $0.status == .skipped })
    #expect(list.doctorExitCode == .ok)
  }

  @Test func theWorstDecides() {
    var list = CheckList(deniesWarnings: false)
    list.ok("a.a", "")
    list.skipped("a.b", "")
    #expect(list.doctorExitCode == .ok && list.onlyWrong.items.isEmpty)
    list.warning("a.c", .dependency, "")
    #expect(list.doctorExitCode == .failed)
    list.problem("a.d", .configuration, "")
    #expect(list.doctorExitCode == .failed)
    list.problem("a.e", .outage, "")
    #expect(list.doctorExitCode == .unavailable)
    #expect(list.onlyWrong.items.map(\.id) == ["a.c", "a.d", "a.e"])
  }
}
