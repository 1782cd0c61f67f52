extension Settings {
  /// What `fanfare api` serves.
  package struct API: Sendable, Equatable {
    package var host = ""
    package var port = 0
    /// Without a certificate, on other interfaces than the loopback one.
    package var plain = false
    package var keysFile: String?
    package var certificateFile: String?
    package var privateKeyFile: String?
    package var maximumConnections = 0
    package var exchangeTimeout = Duration.zero
    package var requestsPerSecond = 0
    package var audit = false
  }
}
