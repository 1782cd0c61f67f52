import Deliver
import EventLoop
import Model
import Record
import Telemetry

/// The limits of pushes a second of a lane's fan-outs, and of the accounts that it sends with:
/// leases from Redis what the lane may send of them. Confined to its lane.
final class LimitLeases {
  /// How often Redis is asked while more is wanted.
  static let interval: Duration = .milliseconds(50)
  /// A lane has tokens for so many seconds of the whole limit at most, and asks for more when it
  /// has half as many: two intervals, since each comes a little late.
  private static let most = 0.1
  private static let unusedAfter: UInt64 = 250_000_000
  /// A limit that nothing has waited for so long holds nobody up.
  private static let shortFor: UInt64 = 1_000_000_000

  private final class Entry {
    weak var limit: PushLimit?
    var grantedAt: UInt64 = 0
    var lackedAt: UInt64 = 0
    var isAsking = false
    /// Why Redis gives nothing, in words; nil while it answers.
    var failure: String?
    init(_ limit: PushLimit) { self.limit = limit }
  }

  private let lane: LaneContext
  private var apps: [String: PushLimit] = [:]
  private var entries: [Entry] = []

  init(_ lane: LaneContext) {
    self.lane = lane
    for (app, rate) in lane.options.rates.apps {
      let limit = PushLimit(.app(app), rate: rate)
      apps[app] = limit
      entries.append(Entry(limit))
    }
  }

  /// Of a fan-out that begins here.
  func limits(of event: Event) -> [PushLimit] {
    var limits: [PushLimit] = []
    if let limit = apps[event.app] { limits.append(limit) }
    if let rate = lane.options.rates.rate(of: event) {
      let limit = PushLimit(.event(event.id), rate: rate)
      entries.removeAll { $0.limit == nil }
      entries.append(Entry(limit))
      limits.append(limit)
    }
    return limits
  }

  /// Those that hold up pushes, in words.
  var short: [String] {
    entries.compactMap { entry in
      guard let limit = entry.limit, limit.isShort || entry.failure != nil else { return nil }
      return entry.failure.map { "\(limit): \($0)" } ?? "\(limit)"
    }
  }

  /// Why Redis gives out nothing of a limit: pushes wait for it.
  var waitsFor: [DependencyWait] {
    entries.compactMap { entry in
      guard let failure = entry.failure, let limit = entry.limit else { return nil }
      return DependencyWait(cause: .redis, text: "pushes of a limit (\(limit)): \(failure)")
    }
  }

  /// The first tokens of a fan-out, so that its first push does not wait for the next renewal.
  /// Those of accounts are not asked for: it may have no push for them.
  func begin(_ fanOut: FanOut) async {
    for entry in entries {
      guard let limit = entry.limit, fanOut.limits.contains(where: { $0 === limit }) else {
        continue
      }
      if limit.tokens <= 0 && !limit.isShort { await lease(limit, entry) }
    }
  }

  /// Called at every interval. Each limit is asked for by itself: where one stands on a master that
  /// is away, no other waits for it.
  func renew(isolation: isolated any Actor = #isolation) {
    for limit in lane.deliver.limits where !entries.contains(where: { $0.limit === limit }) {
      entries.append(Entry(limit))
    }
    for entry in entries {
      guard let limit = entry.limit else { continue }
      let now = lane.loop.now
      if limit.isLacking { entry.lackedAt = now }
      if limit.isShort, now &- entry.lackedAt >= Self.shortFor { limit.rest() }
      if now &- entry.grantedAt >= Self.unusedAfter { limit.expire() }
      guard limit.isWanted, !entry.isAsking, limit.tokens < Self.tokens(limit) / 2 + 1 else {
        continue
      }
      lane.loop.task(on: isolation) { [self] in await lease(limit, entry) }
    }
  }

  private static func tokens(_ limit: PushLimit) -> Int { max(1, Int(Double(limit.rate) * most)) }

  private func lease(_ limit: PushLimit, _ entry: Entry) async {
    let wanted = Self.tokens(limit) - limit.tokens
    guard wanted > 0, !entry.isAsking else { return }
    entry.isAsking = true
    defer { entry.isAsking = false }
    limit.ask()
    do {
      let granted = try await lane.record.lease(wanted, of: limit)
      entry.failure = nil
      limit.grant(granted)
      guard granted > 0 else { return }
      entry.grantedAt = lane.loop.now
      lane.deliver.limitsLetGo()
    } catch {
      // Without a word from Redis nothing of it goes: others may use all that there is.
      limit.refuse()
      if entry.failure == nil {
        lane.log.warning(
          "waiting: Redis lets pushes of a limit go",
          ["limit": .text("\(limit)"), "error": .text("\(error)")])
      }
      entry.failure = "\(error)"
    }
  }
}
