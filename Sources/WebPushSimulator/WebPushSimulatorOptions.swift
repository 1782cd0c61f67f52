import EventLoop
import SimulatorSupport
import TLS
import Telemetry
import Transport

/// How the simulator listens, whom its subscriptions belong to and how it behaves.
package struct WebPushSimulatorOptions: Sendable {
  /// Speaks HTTP/1.1 alone.
  package static let http1Host = "http1.push.test"

  package var host = "127.0.0.1"
  /// 0: any free one.
  package var port = 0
  /// Names and addresses that the certificate is for: services that the simulator plays, two names
  /// that are nobody's, and this machine.
  package var certificateHosts = [
    "localhost", "127.0.0.1", "::1", "fcm.googleapis.com", "updates.push.services.mozilla.com",
    "*.push.apple.com", "*.notify.windows.com", "push.test", "*.push.test",
  ]
  /// Hosts at which ALPN chooses HTTP/1.1, by the name that a client asks for (SNI).
  package var http1Hosts = [http1Host]
  /// Signs the certificate; nil: one is made.
  package var authority: ThrowAwayAuthority?
  /// The directory for certificate, authority and control token; made when it is not there.
  package var directory: String
  /// The VAPID key that subscriptions by number are bound to: 65 bytes. Nil: they take any.
  package var applicationServerKey: [UInt8]?
  /// Makes a VAPID key pair for `applicationServerKey`, and writes its private key to `vapid.pem`.
  package var makesVAPIDKey = false
  /// Endpoints name the simulator's port. Without, they are those of HTTPS' own, and clients must
  /// be led here by other means.
  package var endpointsNamePort = false
  /// MAX_CONCURRENT_STREAMS.
  package var streams = 100
  /// A longer TTL is shortened, and the answer says so. Mozilla: 30 days.
  package var longestTTLSeconds = 30 * 24 * 3600
  /// Answers, latency and faults; can be replaced at run time.
  package var script = WebPushSimulatorScript()
  /// For subscriptions, the mix, the jitter and ids of messages.
  package var seed: UInt64 = 1
  /// For subscriptions alone; nil: `seed`.
  package var subscriptionSeed: UInt64?
  /// False: nobody looks at the signatures of VAPID tokens, so that a sender without chance can
  /// sign.
  package var checksSignatures = true
  package var maximumConnections = 1024
  /// A connection that has sent nothing for so long is closed.
  package var idleTimeout: Duration = .seconds(180)
  /// The messages of so many of the last requests are kept for tests, decrypted.
  package var keptMessages = 4096
  /// What requests under `/simulator/` must come with; empty: one is made up.
  package var controlToken = ""
  /// Microseconds since 1970.
  package var clock: @Sendable () -> Int64 = { WallClock.nowMicroseconds() }

  /// Takes the connections; nil: the system's network does.
  package var network: (any Network)?
  /// False: HTTP/2 without TLS, for a network in memory.
  package var usesTLS = true
  package var makeLoop: @Sendable (String) -> EventLoop = { EventLoop(name: $0) }
  /// Hears of each request for a subscription, on the simulator's loop, before it is answered.
  package var observe: (@Sendable (ObservedWebPush) -> Void)?

  package init(directory: String) { self.directory = directory }

  /// Binds subscriptions by number to a VAPID key that there is.
  /// - Parameter pem: the private key.
  package mutating func bind(toKey pem: String) throws(SimulatorError) {
    do {
      applicationServerKey = try ES256Key(pem: pem).publicPoint()
    } catch {
      throw SimulatorError(
        .badOption, "the VAPID key is no private key of P-256", cause: "\(error)")
    }
  }
}
