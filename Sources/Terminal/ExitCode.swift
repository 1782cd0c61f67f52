/// How a command ends: what scripts, systemd and Kubernetes read (the numbers from 64 on are
/// sysexits.h's).
package enum ExitCode: Int32, Sendable, CaseIterable {
  case ok = 0
  case failed = 1
  case incomplete = 3
  case cancelled = 4
  case unknown = 5
  case timedOut = 6
  case usage = 64
  case unavailable = 69
  case retryLater = 75
  case config = 78

  package var meaning: String {
    switch self {
    case .ok: "all went well"
    case .failed: "the command ran, and what it checked or did failed"
    case .incomplete: "the fan-out has ended before everything was sent (incomplete, expired)"
    case .cancelled: "the fan-out was cancelled"
    case .unknown: "Redis knows nothing of the event"
    case .timedOut: "the fan-out had not ended when the time was over"
    case .usage: "the command line was wrong"
    case .unavailable: "something it depends on is down"
    case .retryLater: "it stopped half way; the same command may succeed later"
    case .config: "the configuration is wrong"
    }
  }
}
