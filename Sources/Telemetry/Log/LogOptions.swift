package struct LogOptions: Sendable {
  /// The least important level that is written.
  package var level: LogLevel = .info
  package var format: LogFormat
  /// One per deployment, or random for this process.
  var tokenLabelKey: TokenLabelKey
  /// Lines of the same message, and about the same event, per window; further ones are counted and
  /// summed up. 0: no limit.
  package var repeatLimit = 20
  var repeatWindow: Duration = .seconds(10)

  package init(
    level: LogLevel = .info, format: LogFormat = .automatic(),
    tokenLabelKey: TokenLabelKey = .random()
  ) {
    self.level = level
    self.format = format
    self.tokenLabelKey = tokenLabelKey
  }
}
