import Settings
import Testing

@testable import Checks

/// What a machine lacks for a configuration.
@Suite struct HostChecksTests {
  private static let good = HostFacts(
    descriptors: 1 << 20, ephemeralPorts: 32_768...60_999, processors: 4, memoryLimit: nil,
    isClockKept: true, clockError: .milliseconds(3), hasTimeZones: true)

  private func found(
    for process: CheckedProcess = .worker, _ settings: Settings = .defaults,
    _ change: (inout HostFacts) -> Void = { _ in }
  ) -> [CheckItem] {
    var facts = Self.good
    change(&facts)
    var list = CheckList(deniesWarnings: false)
    HostChecks.run(settings, for: process, facts, &list)
    return list.items
  }

  private static func lanes(_ count: Int) -> Settings {
    var settings = Settings.defaults
    settings.lanes.count = count
    return settings
  }

  @Test func aGoodMachineIsWell() {
    let items = found(for: .worker, Self.lanes(4))
    #expect(items.allSatisfy { $0.status == .ok }, "\(items)")
    #expect(
      items.map(\.id) == [
        "host.open_files", "host.ports", "host.processors", "host.clock", "host.time_zones",
      ])
    #expect(found(for: .api).map(\.id) == ["host.clock", "host.time_zones"])
  }

  @Test func fewDescriptorsAreAProblem() throws {
    // 4 lanes with 2 × 4 connections to Apple and 16 others, and 128.
    let items = found(for: .worker, Self.lanes(4)) { $0.descriptors = 223 }
    let item = try #require(items.first { $0.id == "host.open_files" })
    #expect(item.status == .problem)
    #expect(item.message.contains("may open 223") && item.message.contains("may need 224"))
    #expect(item.hint?.contains("LimitNOFILE=") == true)
    let enough = found(for: .worker, Self.lanes(4)) { $0.descriptors = 224 }
    #expect(enough.first { $0.id == "host.open_files" }?.status == .ok)
  }

  @Test func fewPortsAreAProblem() {
    let items = found(for: .worker, Self.lanes(4)) { $0.ephemeralPorts = 1_000...1_062 }
    #expect(items.first { $0.id == "host.ports" }?.status == .problem)
    let enough = found(for: .worker, Self.lanes(4)) { $0.ephemeralPorts = 1_000...1_063 }
    #expect(enough.first { $0.id == "host.ports" }?.status == .ok)
    let unknown = found(for: .worker, Self.lanes(4)) { $0.ephemeralPorts = nil }
    #expect(unknown.first { $0.id == "host.ports" }?.status == .skipped)
  }

  @Test func moreLanesThanProcessorsCarryAreWarnedOf() throws {
    let items = found(for: .worker, Self.lanes(21))
    let item = try #require(items.first { $0.id == "host.processors" })
    #expect(item.status == .warning && item.key == "lanes.count")
    #expect(item.message.contains("21 lanes on 4 processors: at most 20"))
    #expect(found(for: .worker, Self.lanes(20)).first { $0.id == "host.processors" }?.status == .ok)
  }

  @Test func aClockThatNobodyKeepsIsWarnedOf() {
    func clock(_ isKept: Bool?, _ error: Duration) -> CheckItem.Status? {
      found {
        $0.isClockKept = isKept
        $0.clockError = error
      }.first { $0.id == "host.clock" }?.status
    }
    #expect(clock(false, .zero) == .warning)
    #expect(clock(true, .seconds(1)) == .ok)
    #expect(clock(true, .milliseconds(1_001)) == .warning)
    #expect(clock(nil, .zero) == .skipped)
  }

  @Test func timeZonesAreNeededForQuietHoursOnly() {
    var settings = Settings.defaults
    let without = found(for: .worker, settings) { $0.hasTimeZones = false }
    #expect(without.first { $0.id == "host.time_zones" }?.status == .skipped)
    settings.rules.quietHours = true
    let needed = found(for: .worker, settings) { $0.hasTimeZones = false }
    #expect(needed.first { $0.id == "host.time_zones" }?.status == .problem)
  }

  @Test func theSystemTellsItsFacts() {
    let facts = HostFacts.current()
    #expect(facts.descriptors > 0 && facts.processors > 0)
    #expect(facts.ephemeralPorts?.isEmpty == false)
  }
}
