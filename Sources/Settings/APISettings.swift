extension Settings {
  /// What `fanfare api` serves.
  package struct API: Sendable, Equatable {
    package var host = ""
    package var port = 0
    /// Without a certificate, on other interfaces than the loopback one.
    package var plain = false
    package var keysFile: String?
    /// 0: one for each core, four at most.
    package var threads = 0
    package var tls = TLS()
    package var maximumConnections = 0
    package var exchangeTimeout = Duration.zero
    package var idleTimeout = Duration.zero
    package var requestsPerSecond = 0
    package var audit = false
    package var imports = Imports()

    package struct Imports: Sendable, Equatable {
      package var maximumBytes = 0
      package var atOnce = 0
      package var timeout = Duration.zero
      package var minimumRate = 0
    }

    package struct TLS: Sendable, Equatable {
      package var certificateFile: String?
      package var keyFile: String?
    }
  }
}
