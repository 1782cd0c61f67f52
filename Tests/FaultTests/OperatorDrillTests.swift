import Checkout
import TestBed
import Testing

/// What an operator sees of twelve faults, on the dashboard and in the metrics, with the settings'
/// defaults. Each fault has servers, a worker and an API of its own, and all happen side by side.
@Suite struct OperatorDrillTests {
  private static let limit: Duration = .seconds(10)
  /// So that a fault that shows late says how late.
  private static let longestLook: Duration = .seconds(20)

  private struct Seen: Sendable {
    var alert: AlertStream.Alert?
    var metricAt: ContinuousClock.Instant?
  }

  @Test func everyFaultShowsWithinTenSecondsWithItsRunbookLine() async throws {
    let anchors = try Checkout.anchors(in: "docs/operations.md")
    #expect(Drill.all.count == 12)
    // All stands are ready before the first fault: starting them is work.
    let stands = await withTaskGroup(of: (Int, DrillStand?).self) { group in
      for (index, drill) in Drill.all.enumerated() {
        group.addTask { (index, await Self.prepare(drill)) }
      }
      return await group.reduce(into: [(Int, DrillStand?)]()) { $0.append($1) }
    }
    await withTaskGroup(of: Void.self) { group in
      for case (let index, let stand?) in stands {
        group.addTask { await Self.run(Drill.all[index], stand, anchors) }
      }
    }
  }

  private static func prepare(_ drill: Drill) async -> DrillStand? {
    do {
      let stand = try await DrillStand.start(drill.script)
      try await drill.prepare(stand)
      return stand
    } catch {
      Issue.record(error, "\(drill.fault): nothing to try it on")
      return nil
    }
  }

  private static func run(_ drill: Drill, _ stand: DrillStand, _ anchors: Set<String>) async {
    defer { stand.end() }
    do {
      stand.alerts.forgetThePast()
      let before = stand.metric(drill.metric.family, drill.metric.labels)
      #expect(before != nil && fits(stand, drill) == nil, "\(drill.fault): it is there already")
      try await drill.make(stand)
      let began = ContinuousClock.now
      let seen = try await look(for: drill, at: stand, before ?? 0, since: began)
      judge(drill, stand, seen, since: began, anchors)
    } catch {
      Issue.record(error, "\(drill.fault)")
    }
  }

  private static func fits(_ stand: DrillStand, _ drill: Drill) -> AlertStream.Alert? {
    stand.alerts.first {
      $0.name.hasPrefix(drill.alert.name) && $0.words.contains(drill.alert.words)
    }
  }

  /// Looks again and again until both are there, or it is much too late.
  private static func look(
    for drill: Drill, at stand: DrillStand, _ before: Double,
    since began: ContinuousClock.Instant
  ) async throws -> Seen {
    var seen = Seen()
    while seen.alert == nil || seen.metricAt == nil, ContinuousClock.now - began < longestLook {
      let known = seen
      seen = try await stand.bed.until(drill.fault) {
        var next = known
        next.alert = known.alert ?? fits(stand, drill)
        if known.metricAt == nil, changed(drill, stand, from: before) {
          next.metricAt = ContinuousClock.now
        }
        let isNews = next.alert?.name != known.alert?.name || next.metricAt != known.metricAt
        return isNews || ContinuousClock.now - began >= longestLook ? next : nil
      }
    }
    return seen
  }

  private static func changed(_ drill: Drill, _ stand: DrillStand, from before: Double) -> Bool {
    let value = stand.metric(drill.metric.family, drill.metric.labels)
    return switch drill.metric.change {
    case .rises: value.map { $0 > before } ?? false
    case .reaches(let least): value.map { $0 >= least } ?? false
    case .isGone: value == nil
    }
  }

  private static func judge(
    _ drill: Drill, _ stand: DrillStand, _ seen: Seen, since began: ContinuousClock.Instant,
    _ anchors: Set<String>
  ) {
    let alertAfter = seen.alert.map { max(.zero, $0.seenAt - began) }
    let metricAfter = seen.metricAt.map { $0 - began }
    print("==> \(drill.fault): alert after \(text(alertAfter)), metric after \(text(metricAfter))")
    let newest = stand.alerts.newest ?? []
    #expect(
      alertAfter.map { $0 <= limit } == true,
      "\(drill.fault): alert after \(text(alertAfter)); now \(newest)")
    #expect(
      metricAfter.map { $0 <= limit } == true,
      "\(drill.fault): \(drill.metric.family) after \(text(metricAfter))")
    #expect(seen.alert?.runbook == "docs/operations.md#\(drill.anchor)", "\(drill.fault)")
    #expect(anchors.contains(drill.anchor), "\(drill.fault): \(drill.anchor) leads nowhere")
  }

  private static func text(_ duration: Duration?) -> String {
    duration.map { "\(($0 / .milliseconds(100)).rounded() / 10) s" } ?? "never"
  }
}
