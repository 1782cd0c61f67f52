import EventLoop
import TLS
import Telemetry
import Transport

/// How the simulator listens, which project it serves and how it behaves.
package struct FCMSimulatorOptions: Sendable {
  package var host = "127.0.0.1"
  /// 0: any free one.
  package var port = 0
  /// Names and addresses that the certificate is for.
  package var certificateHosts = ["localhost", "127.0.0.1", "::1"]
  /// Signs the certificate; nil: one is made.
  package var authority: ThrowAwayAuthority?
  /// The directory for certificate, authority and service account; made when it is not there.
  package var directory: String
  /// The key of the service account; nil: one is made.
  package var key: RS256KeyPair?
  package var projectID = "simulated-project"
  /// The other name that paths may give the project.
  package var projectNumber = "100200300400"
  /// MAX_CONCURRENT_STREAMS. Observed at Google: 100 (firebase-admin-node #2943).
  package var streams = 100
  /// Lifetime of access tokens. Google: an hour less a second.
  package var accessTokenSeconds: Int64 = 3599
  /// Answers, latency and faults; can be replaced at run time.
  package var script = FCMSimulatorScript()
  /// For the mix, the jitter, access tokens and ids of messages.
  package var seed: UInt64 = 1
  package var maximumConnections = 1024
  /// A connection that has sent nothing for so long is closed. Observed at Google: three minutes
  /// (firebase-admin-java #1028).
  package var idleTimeout: Duration = .seconds(180)
  /// The token that requests under /simulator/ must show. `FCMSimulator.start` makes one up when
  /// it is empty.
  package var controlToken = ""
  /// The bodies of so many of the last requests are kept for whoever looks.
  package var keptBodies = 4096
  /// Microseconds since 1970.
  package var clock: @Sendable () -> Int64 = { WallClock.nowMicroseconds() }

  /// Takes the connections; nil: the system's network does.
  package var network: (any Network)?
  /// False: HTTP/2 without TLS, for a network in memory.
  package var usesTLS = true
  package var makeLoop: @Sendable (String) -> EventLoop = { EventLoop(name: $0) }
  /// Hears of each message for a registration token, on the simulator's loop, before it is
  /// answered.
  package var observe: (@Sendable (ObservedMessage) -> Void)?

  package init(directory: String) { self.directory = directory }
}
