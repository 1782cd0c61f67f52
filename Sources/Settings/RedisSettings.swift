extension Settings {
  package struct Redis: Sendable, Equatable {
    package var host = ""
    package var port = 0
    /// `host:port` of some nodes; empty: there is one Redis.
    package var cluster: [String] = []
    package var sentinel = Sentinel()
    package var username: String?
    package var password: Secret?
    /// Where `password` was read from; nil: it was given otherwise.
    package var passwordFile: String?
    package var database = 0
    package var tls = TLS()
    package var connectTimeout = Duration.zero
    package var commandTimeout = Duration.zero
    package var reconnectMinimum = Duration.zero
    package var reconnectMaximum = Duration.zero
    package var waitForReplicas = 0
    package var readFromReplicas = false
    package var replicaLagLimit = Duration.zero
    package var prefix = Prefix()

    package struct Sentinel: Sendable, Equatable {
      /// `host:port` of each; empty: there are none.
      package var nodes: [String] = []
      package var master = ""
      package var username: String?
      package var password: Secret?
      /// Where `password` was read from; nil: it was given otherwise.
      package var passwordFile: String?
      package var tls = SentinelTLS()
    }

    package struct TLS: Sendable, Equatable {
      package var enabled = false
      package var caFile: String?
      package var certificateFile: String?
      package var keyFile: String?
    }

    package struct SentinelTLS: Sendable, Equatable {
      package enum Enabled: String, CaseIterable, Sendable {
        case asRedis = "as_redis"
        case yes = "true"
        case no = "false"
      }

      package var enabled = Enabled.asRedis
      package var caFile: String?
      package var certificateFile: String?
      package var keyFile: String?
    }

    /// How sentinels are reached: what they have none of their own of is the master's.
    package var tlsOfSentinels: TLS {
      let own = sentinel.tls
      let isOwnCertificate = own.certificateFile != nil
      return TLS(
        enabled: own.enabled == .asRedis ? tls.enabled : own.enabled == .yes,
        caFile: own.caFile ?? tls.caFile,
        certificateFile: own.certificateFile ?? tls.certificateFile,
        keyFile: isOwnCertificate ? own.keyFile : tls.keyFile)
    }

    package struct Prefix: Sendable, Equatable {
      package var data = ""
      package var dashboards = ""
    }
  }
}
