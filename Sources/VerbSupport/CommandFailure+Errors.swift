import Devices
import Redis
import Settings
import Terminal

/// Turns the rooms' errors into the end of a command.
extension CommandFailure {
  package init(_ error: SettingsError) {
    self.init(.config, error.message, findings: error.problems.map(\.description))
  }

  /// Makes a failure of settings, where a closure has lost the error's type.
  package init(ofSettings error: any Error) {
    guard let error = error as? SettingsError else {
      self.init(.failed, "\(error)")
      return
    }
    self.init(error)
  }

  package init(_ error: RedisError) {
    self.init(Self.code(of: error.code), error.description)
  }

  package init(_ error: DevicesError) {
    let code: ExitCode =
      switch error.code {
      case .redis(let code): Self.code(of: code)
      case .conflict, .untold: .retryLater
      case .invalid, .tooLarge, .badContent, .overtaken: .failed
      }
    self.init(code, error.description)
  }

  /// Returns `unavailable` if the caller may wait and try again, `config` if a setting must change.
  package static func code(of error: RedisError.Code) -> ExitCode {
    if error.isForOperator { return .config }
    return error.mayBeAskedAgain ? .unavailable : .failed
  }
}
