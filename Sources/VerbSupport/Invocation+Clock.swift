import Telemetry
import Terminal

extension Invocation {
  /// By the clock that verbs go by, in ms since 1970.
  package var nowMilliseconds: Int64 { WallClock.nowMilliseconds() }
}
