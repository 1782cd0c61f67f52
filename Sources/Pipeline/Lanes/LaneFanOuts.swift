import Model

/// The fan-outs that a lane works on: the segments of an event share one for as long as one of them
/// is under way.
struct LaneFanOuts {
  private struct Entry {
    weak var fanOut: FanOut?
  }

  /// Of an event whose fan-out begins here.
  private let limits: (Event) -> [PushLimit]
  /// By the event's id.
  private var entries: [String: Entry] = [:]
  /// With so many, those that ended are forgotten.
  private var most = LaneFanOuts.fewest
  private static let fewest = 64

  init(limits: @escaping (Event) -> [PushLimit] = { _ in [] }) { self.limits = limits }

  var count: Int { entries.count }

  func fanOut(ofEvent id: String) -> FanOut? { entries[id]?.fanOut }

  mutating func fanOut(of segment: Segment) -> FanOut {
    let id = segment.event.id
    if let known = entries[id]?.fanOut { return known }
    if entries.count >= most {
      entries = entries.filter { $0.value.fanOut != nil }
      most = max(Self.fewest, 2 * entries.count)
    }
    let fanOut = FanOut(isSmall: segment.isOfSmall, limits: limits(segment.event))
    entries[id] = Entry(fanOut: fanOut)
    return fanOut
  }
}
