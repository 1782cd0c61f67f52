import Conformance
import SimulatorSupport
import Terminal
import VerbSupport

/// A platform whose push service `fanfare simulator` stands in for: what the verb must know of it.
struct SimulatedPlatform: Sendable {
  /// Of its options alone.
  let ownFlags: [any DeclaredOption]
  /// Starts a simulator with the options of the command line.
  /// - Parameter log: one line for each thing worth a line.
  let start:
    @Sendable (Invocation, _ log: @escaping @Sendable (String) -> Void) async throws(CommandFailure)
      -> RunningSimulator
  /// Asks a simulator with these options each of its rules, and stops it.
  let test: @Sendable (Invocation) async throws(CommandFailure) -> [ConformanceResult]
}

/// The values of `--platform`. Another platform is a case here and a `SimulatedPlatform`.
enum PlatformName: String, CaseIterable, Sendable {
  case apns, fcm, webpush

  var platform: SimulatedPlatform {
    switch self {
    case .apns: .apns
    case .fcm: .fcm
    case .webpush: .webpush
    }
  }
}

/// A simulator that serves.
struct RunningSimulator: Sendable {
  let url: String
  /// The line that says that it is ready, with what a worker needs.
  let ready: JSONOutput
  /// The same as settings of a worker, `key=value`.
  let settings: [String]
  /// Stops it, and returns a line with what came in.
  let stop: @Sendable () async -> String
}

extension CommandFailure {
  /// A script or an option that is wrong is the user's; the rest is the machine's.
  init(_ error: SimulatorError) {
    self.init(error.code == .cannotStart ? .failed : .usage, error.description)
  }

  /// Runs what fails as simulators do.
  static func fromSimulator<T>(
    _ body: () async throws -> T
  ) async throws(CommandFailure) -> T {
    do {
      return try await body()
    } catch let error as CommandFailure {
      throw error
    } catch let error as SimulatorError {
      throw CommandFailure(error)
    } catch {
      throw CommandFailure(.failed, "\(error)")
    }
  }
}
