import Devices
import Kafka
import LocalStack
import Redis
import Settings
import Terminal

/// Why a command ends early: what to say, and with which code.
struct CommandFailure: Error, Sendable {
  let code: ExitCode
  let message: String
  /// Lines that stand by themselves above the message: `file:line:column: …`.
  let findings: [String]

  init(_ code: ExitCode, _ message: String, findings: [String] = []) {
    self.code = code
    self.message = message
    self.findings = findings
  }

  init(_ error: LineReader.Failure) { self.init(.failed, error.message) }

  init(_ error: SettingsError) {
    self.init(.config, error.message, findings: error.problems.map(\.description))
  }

  /// Runs what fails as local runs do.
  static func from<T>(
    _ body: () async throws(LocalStackError) -> T
  ) async throws(CommandFailure) -> T {
    do throws(LocalStackError) {
      return try await body()
    } catch {
      throw CommandFailure(error)
    }
  }

  init(_ error: LocalStackError) {
    let code: ExitCode =
      switch error.kind {
      case .failed: .failed
      case .unavailable: .unavailable
      case .configuration: .config
      case .interrupted: .retryLater
      }
    self.init(code, error.message, findings: error.findings)
  }

  init(_ error: KafkaError) { self.init(Self.code(of: error), error.description) }

  init(_ error: RedisError) {
    self.init(Self.code(of: error.code), error.description)
  }

  init(_ error: DevicesError) {
    let code: ExitCode =
      switch error.code {
      case .redis(let code): Self.code(of: code)
      case .conflict: .retryLater
      case .invalid, .badContent: .failed
      }
    self.init(code, error.description)
  }

  private static func code(of error: RedisError.Code) -> ExitCode {
    if error.isForOperator { return .config }
    return error.isTransient || error == .closed ? .unavailable : .failed
  }

  /// Whoever may wait and try again gets `unavailable`; whoever must change a setting, `config`.
  static func code(of error: KafkaError) -> ExitCode {
    switch error.code {
    case .configuration, .authentication, .authorization: .config
    case .tooLarge: .failed
    case .unreachable, .unknownTopic, .timedOut, .rebalanced, .fatal, .closed, .other: .unavailable
    }
  }
}

extension Invocation {
  /// Runs a verb's work; what it throws is told on standard error.
  func reporting(_ work: () async throws(CommandFailure) -> ExitCode) async -> ExitCode {
    do {
      return try await work()
    } catch {
      for finding in error.findings { errors.line(TextLayout.printable(finding)) }
      complain(error.message)
      return error.code
    }
  }
}
