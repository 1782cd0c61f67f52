import Glibc
import Synchronization

/// How a test process ends: when its beds have gone, and without the handlers that libraries have
/// registered with exit(3). OpenSSL's takes apart what the threads of a bed may still use.
enum ProcessEnd {
  private static let closing = Atomic(0)
  private static let longestMilliseconds: Int32 = 20_000

  /// Handlers run in the opposite order of their registration: this is called when the libraries
  /// are set up.
  static func takeOver() { _ = isRegistered }

  /// Runs `body`, the end of a bed, beside the next test; the process does not end before it.
  static func awaits(_ body: @escaping @Sendable () async -> Void) {
    closing.wrappingAdd(1, ordering: .acquiringAndReleasing)
    Task {
      await body()
      closing.wrappingSubtract(1, ordering: .acquiringAndReleasing)
    }
  }

  private static let isRegistered: Bool =
    on_exit(
      { status, _ in
        var left = longestMilliseconds
        while closing.load(ordering: .acquiring) > 0, left > 0 {
          left -= 5
          _ = poll(nil, 0, 5)
        }
        fflush(nil)
        _exit(status)
      }, nil) == 0
}
