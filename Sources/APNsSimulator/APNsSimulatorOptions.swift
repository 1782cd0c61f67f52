import EventLoop
import TLS
import Telemetry
import Transport

/// How the simulator listens, whom it trusts and how it behaves.
package struct APNsSimulatorOptions: Sendable {
  /// A key that provider tokens may be signed with.
  package struct ProviderKey: Sendable {
    package var keyID: String
    package var teamID: String
    /// The key's public half, PEM.
    package var publicKeyPEM: String
    /// Of the team's apps; empty: any.
    package var topics: [String]

    package init(keyID: String, teamID: String, publicKeyPEM: String, topics: [String] = []) {
      self.keyID = keyID
      self.teamID = teamID
      self.publicKeyPEM = publicKeyPEM
      self.topics = topics
    }
  }

  package var host = "127.0.0.1"
  /// 0: any free one.
  package var port = 0
  /// Where the legacy gateway listens that speaks the binary interface; nil: there is none.
  package var binaryPort: Int?
  /// Where the legacy feedback service listens; nil: there is none.
  package var feedbackPort: Int?
  /// Names and addresses that the certificate is for.
  package var certificateHosts = ["localhost", "127.0.0.1", "::1"]
  /// Signs the certificates of the simulator and of its clients; nil: one is made.
  package var authority: ThrowAwayAuthority?
  /// Where certificate, authority and key are written; made when it is not there.
  package var directory: String
  /// Empty: `AuthKey_SIMULATED1.p8` is made in `directory`, or read when it is there.
  package var providerKeys: [ProviderKey] = []
  /// False: `authorization` is not looked at, as on a connection with a certificate.
  package var requiresProviderToken = true
  /// Topics that may be pushed to, without the suffix of the push type. Empty: any.
  package var topics: [String] = []
  /// MAX_CONCURRENT_STREAMS before the first valid provider token. Apple: one.
  package var firstStreams = 1
  /// MAX_CONCURRENT_STREAMS afterwards. Observed at Apple: 1000 (pushy #878).
  package var streams = 1000
  /// Answer as api.sandbox.push.apple.com does: with `apns-unique-id`.
  package var isDevelopment = false
  /// Answers, error mix, latency and faults; can be replaced at run time.
  package var script = SimulatorScript()
  /// For the error mix, the jitter and the apns-ids that are made up.
  package var seed: UInt64 = 1
  package var maximumConnections = 1024
  /// A connection that has sent nothing for so long is closed. Apple leaves them open for hours.
  package var idleTimeout: Duration = .seconds(2 * 3600)
  /// The token that requests under /simulator/ must show. `APNsSimulator.start` makes one up when
  /// it is empty.
  package var controlToken = ""
  /// Microseconds since 1970.
  package var clock: @Sendable () -> Int64 = { WallClock.nowMicroseconds() }

  /// Takes the connections; nil: the system's network does.
  package var network: (any Network)?
  /// False: HTTP/2 without TLS, for a network in memory.
  package var usesTLS = true
  package var makeLoop: @Sendable (String) -> EventLoop = { EventLoop(name: $0) }
  /// Hears of each request for a token, on the simulator's loop, before it is answered.
  package var observe: (@Sendable (ObservedPush) -> Void)?

  package init(directory: String) { self.directory = directory }
}

/// A request for a token that was judged, as whoever observes the simulator gets it. The bytes are
/// good until the call returns.
package struct ObservedPush {
  /// Lower-case hex.
  package let token: UnsafeBufferPointer<UInt8>
  package let payload: UnsafeRawBufferPointer
  /// The answer that the client gets, unless the connection ends before.
  package let answer: SimulatedAnswer
}
