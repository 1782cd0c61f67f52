/// Everything that can be configured, read, defaulted and validated, as plain values. The meaning
/// of a field, its bounds and its default are in the table of keys (`SettingTable`), which fills
/// it; the names here are the keys' names.
package struct Settings: Sendable, Equatable {
  package var kafka = Kafka()
  package var redis = Redis()
  package var audience = Audience()
  package var rules = Rules()
  package var templates = Templates()
  package var apns = APNs()
  package var fcm = FCM()
  package var webpush = WebPush()
  package var lanes = Lanes()
  package var events = Events()
  package var outcomes = Outcomes()
  package var traces = Traces()
  package var devices = Devices()
  package var limits = Limits()
  package var worker = Worker()
  package var api = API()
  package var probes = Probes()
  package var log = Log()

  /// Pushes go to Android or to browsers: then Apple need not be configured.
  package var sendsElsewhere: Bool { fcm.isConfigured || webpush.isConfigured }

  /// The values of an empty configuration; `worker.id`, which each process makes up, is empty.
  package static let defaults: Settings = {
    var settings = Settings()
    for key in SettingTable.keys {
      if let value = key.defaultValue { key.apply(&settings, value) }
    }
    return settings
  }()

  package struct Kafka: Sendable, Equatable {
    package var bootstrapServers: [String] = []
    package var group = ""
    package var staticMembership = false
    package var clientID = ""
    package var topics = Topics()
    package var security = Security()
    package var fetchWaitMaximum = Duration.zero
    package var sessionTimeout = Duration.zero
    package var heartbeatInterval = Duration.zero
    package var maximumEventBytes = 0
    package var properties: [String: String] = [:]

    package struct Topics: Sendable, Equatable {
      package var events = ""
      package var segments = ""
      package var bulkSegments = ""
      package var stragglers = ""
      package var deadLetters = ""
      package var tokens: String?
      package var outcomes: String?
    }

    package struct Security: Sendable, Equatable {
      package var securityProtocol = SecurityProtocol.plaintext
      package var mechanism: Mechanism?
      package var username: String?
      package var password: Secret?
      package var caFile: String?
    }

    package enum SecurityProtocol: String, Sendable, CaseIterable {
      case plaintext, ssl
      case saslPlaintext = "sasl_plaintext"
      case saslSSL = "sasl_ssl"

      package var usesSASL: Bool { self == .saslPlaintext || self == .saslSSL }
      package var usesTLS: Bool { self == .ssl || self == .saslSSL }
    }

    package enum Mechanism: String, Sendable, CaseIterable {
      case plain = "PLAIN"
      case scramSHA256 = "SCRAM-SHA-256"
      case scramSHA512 = "SCRAM-SHA-512"
      case gssapi = "GSSAPI"
      case oauthBearer = "OAUTHBEARER"

      /// The others have credentials of their own, in `properties`.
      package var usesPassword: Bool { self != .gssapi && self != .oauthBearer }
    }
  }

  package struct Audience: Sendable, Equatable {
    package var pageSize = 0
    /// Holds `{streamer}` once, when there is one.
    package var plainSetKey: String?
  }

  package struct Rules: Sendable, Equatable {
    package var mutedStreamers = false
    package var quietHours = false
    /// Nil: UTC, which hardly anybody lives in.
    package var defaultTimeZone: String?
    package var devices = Devices.all
    /// 0: any number.
    package var eventsPerHour = 0

    package enum Devices: String, Sendable, CaseIterable {
      case all, newest
    }
  }

  package struct Templates: Sendable, Equatable {
    package var directory = ""
    package var unknownWait: Duration = .zero
    package var reloadInterval: Duration = .zero
  }

  package struct FCM: Sendable, Equatable {
    package var host = ""
    package var port = 0
    package var caFile: String?
    package var proxy = Proxy()
    /// nil: the service account's, or the machine's.
    package var project: String?
    package var serviceAccountFile: String?
    package var tokenFile: String?
    /// A program and its arguments; empty: none.
    package var tokenCommand: [String] = []
    package var metadata = false
    package var metadataHost = ""
    /// Of all workers, for each project that has none of its own; 0: any number.
    package var messagesPerMinute = 0
    /// By name: apps of other projects.
    package var apps: [String: Account] = [:]
    package var connectionsPerLane = 0
    package var connectionsPerLaneMaximum = 0
    package var streamsPerConnection = 0

    /// Whether pushes go to Android at all.
    package var isConfigured: Bool { !account.sources.isEmpty || !apps.isEmpty }
    /// Of a lane, under load.
    package var mostConnectionsPerLane: Int { max(connectionsPerLane, connectionsPerLaneMaximum) }
  }

  /// An HTTP proxy on the way to a platform.
  package struct Proxy: Sendable, Equatable {
    /// nil: none.
    package var host: String?
    package var port = 0
    package var username: String?
    package var password: Secret?
  }

  package struct WebPush: Sendable, Equatable {
    package var vapidKeyFile: String?
    package var vapidKeyID = ""
    /// By id.
    package var formerVAPIDKeys: [String: String] = [:]
    package var subject: String?
    package var hosts: [String] = []
    package var ports: [String] = []
    /// Host and port.
    package var connectTo: String?
    package var caFile: String?
    package var proxy = Proxy()
    package var connectionsPerLane = 0
    package var connectionsPerLaneMaximum = 0
    package var streamsPerConnection = 0
    package var keyPairPerMessage = false

    /// Whether pushes go to browsers at all.
    package var isConfigured: Bool { vapidKeyFile != nil }
    /// Of a lane to one push service, under load.
    package var mostConnectionsPerLane: Int { max(connectionsPerLane, connectionsPerLaneMaximum) }
  }

  package struct APNs: Sendable, Equatable {
    package var production = Server()
    package var sandbox = Server()
    package var caFile: String?
    package var proxy = Proxy()
    package var keyFile: String?
    package var keyID: String?
    package var teamID: String?
    package var certificateFile: String?
    package var certificateKeyFile: String?
    package var certificatePassphraseFile: String?
    /// By bundle id: apps of other teams, or with certificates of their own.
    package var apps: [String: Credentials] = [:]
    package var tokenLifetime = Duration.zero
    package var connectionsPerLane = 0
    package var connectionsPerLaneMaximum = 0
    package var streamsPerConnection = 0
    package var readyPushesPerLane = 0
    package var requestTimeout = Duration.zero
    package var connectTimeout = Duration.zero
    package var pingInterval = Duration.zero
    package var retry = Retry()

    package var binaryAcceptedAfter = Duration.zero

    /// Of a lane to each of the servers, under load.
    package var mostConnectionsPerLane: Int { max(connectionsPerLane, connectionsPerLaneMaximum) }

    /// Of all apps that `apps` does not name.
    package var credentials: Credentials {
      Credentials(
        keyFile: keyFile, keyID: keyID, teamID: teamID, certificateFile: certificateFile,
        certificateKeyFile: certificateKeyFile,
        certificatePassphraseFile: certificatePassphraseFile)
    }

    /// Our credentials for Apple: a key and its team, or a certificate.
    package struct Credentials: Sendable, Hashable {
      package var keyFile: String?
      package var keyID: String?
      package var teamID: String?
      package var certificateFile: String?
      /// nil: it is in the certificate's file.
      package var certificateKeyFile: String?
      package var certificatePassphraseFile: String?

      package init(
        keyFile: String? = nil, keyID: String? = nil, teamID: String? = nil,
        certificateFile: String? = nil, certificateKeyFile: String? = nil,
        certificatePassphraseFile: String? = nil
      ) {
        self.keyFile = keyFile
        self.keyID = keyID
        self.teamID = teamID
        self.certificateFile = certificateFile
        self.certificateKeyFile = certificateKeyFile
        self.certificatePassphraseFile = certificatePassphraseFile
      }

      /// Nothing is set.
      package var isEmpty: Bool { self == Credentials() }
    }

    package struct Server: Sendable, Equatable {
      package var host = ""
      package var port = 0
      /// Where broadcasts to channels go.
      package var broadcast = Address()
      /// Where channels are managed.
      package var channels = Address()
      package var interface = Interface.http2
    }

    package struct Address: Sendable, Equatable {
      package var host = ""
      package var port = 0
    }

    package enum Interface: String, Sendable, CaseIterable {
      case http2
      /// The legacy one, which Apple retired on 2021-03-31.
      case binary
    }

    package struct Retry: Sendable, Equatable {
      package var initial = Duration.zero
      package var maximum = Duration.zero
    }
  }

  package struct Lanes: Sendable, Equatable {
    /// 0 = one for each core.
    package var count = 0
    package var segmentsPerLane = 0
    package var batchBytes = 0
    package var straggleAfter = Duration.zero
    package var straggleDelay = Duration.zero
    package var claimLifetime = Duration.zero
    package var revokeTimeout = Duration.zero
    package var drainTimeout = Duration.zero
  }

  package struct Events: Sendable, Equatable {
    package var defaultExpiresIn = Duration.zero
    package var maximumExpiresIn = Duration.zero
    package var maximumSendAhead = Duration.zero
    package var cooldown = Duration.zero
    package var trace = Trace.none
    package var traceMaximum = 0

    package enum Trace: String, Sendable, CaseIterable { case failures, all, none }
  }

  package struct Outcomes: Sendable, Equatable {
    package var recipients = Recipients.none
    /// A share, as `Share` reads it.
    package var sample = ""

    package enum Recipients: String, Sendable, CaseIterable { case none, sampled, all }

    /// Of the users, 0...1.
    package var share: Double {
      switch recipients {
      case .none: 0
      case .sampled: Share.parse(sample) ?? 0
      case .all: 1
      }
    }
  }

  package struct Traces: Sendable, Equatable {
    package var endpoint: String?
    /// A share, as `Share` reads it.
    package var sample = ""
    package var headers: Secret?
    package var caFile: String?
    package var attributes: [String: String] = [:]

    /// Of the events without a trace, 0...1.
    package var share: Double { Share.parse(sample) ?? 0 }
  }

  package struct Devices: Sendable, Equatable {
    /// Per cent.
    package var removalShare = 0
    package var removalSamples = 0
    package var removalWindow = Duration.zero
  }

  /// Pushes a second, of all workers together.
  package struct Limits: Sendable, Equatable {
    /// 0: none.
    package var event = 0
    /// By bundle id, whole numbers.
    package var apps: [String: String] = [:]
  }

  package struct Worker: Sendable, Equatable {
    package var id = ""
    package var heartbeatInterval = Duration.zero
  }

  package struct Probes: Sendable, Equatable {
    package var host = ""
    /// 0: none.
    package var port = 0
  }

  package struct Log: Sendable, Equatable {
    package enum Level: String, Sendable, CaseIterable {
      case error, warning, notice, info, debug
    }

    package enum Format: String, Sendable, CaseIterable {
      case auto, text, json
    }

    package var level = Level.info
    package var format = Format.auto
  }
}

extension Settings {
  /// The settings of `fanfare api`.
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
