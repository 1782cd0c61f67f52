import Record
import Text

/// Tells each fan-out that comes to its end once, whoever sent its event. A pure machine: what
/// Redis knows goes in.
struct EndedFanOuts {
  private var told: Set<ExactText> = []

  /// - Parameter before: what there was before anybody looked.
  init(before: [KnownFanOut]) { _ = news(before) }

  /// Those that have ended since the last look, the oldest first.
  /// - Parameter recent: the fan-outs that began last, the latest first.
  mutating func news(_ recent: [KnownFanOut]) -> [KnownFanOut] {
    let ended = recent.filter {
      switch $0.status.state {
      case .done, .expired, .incomplete: true
      case .scheduled, .running, .unknown: false
      }
    }
    let new = ended.filter { !told.contains(ExactText($0.event)) }
    // A fan-out that is not among the latest any more never comes back.
    told = Set(ended.map { ExactText($0.event) })
    return new.reversed()
  }
}
