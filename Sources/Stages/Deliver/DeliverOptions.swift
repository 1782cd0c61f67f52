import Model
import Transport

/// Where the pushes of one environment go.
package struct APNsRoute: Sendable {
  package var endpoint: Endpoint
  package var tls: ClientSecurity

  package init(endpoint: Endpoint, tls: ClientSecurity) {
    self.endpoint = endpoint
    self.tls = tls
  }
}

package struct DeliverOptions: Sendable {
  package var routes: [APNsEnvironment: APNsRoute] = [:]
  /// Connections of a lane to each environment. Apple: spread over many connections, avoid bursts
  /// on a few.
  package var connectionsPerRoute = 2
  /// Streams in flight on a connection at most, whatever the server allows: more only costs memory.
  package var streamsPerConnection = 500
  /// Pushes that wait for a stream in a lane at most, plus one batch of each segment in flight.
  package var readyPushes = 1024
  /// A stream without an answer is given up after this.
  package var requestTimeout: Duration = .seconds(30)
  package var connectTimeout: Duration = .seconds(10)
  /// A connection without traffic is asked for a sign of life after this. Apple: about an hour.
  package var pingInterval: Duration = .seconds(3600)
  /// A PING without an answer closes the connection after this.
  package var pingTimeout: Duration = .seconds(10)
  package var retry = RetryPolicy()
  /// How long nothing is sent after Apple refused our credentials.
  package var credentialHold: Duration = .seconds(15)
  /// Ms since 1970; what expiry is measured against.
  package var wallClock: @Sendable () -> Int64
  /// Hears what an operator should know.
  package var report: @Sendable (DeliverNotice) -> Void

  package init(
    wallClock: @escaping @Sendable () -> Int64,
    report: @escaping @Sendable (DeliverNotice) -> Void = { _ in }
  ) {
    self.wallClock = wallClock
    self.report = report
  }
}

/// What Deliver tells an operator. None of it holds a device token or a secret.
package enum DeliverNotice: Sendable, Equatable {
  case connected(Endpoint)
  /// `retryAfter`: when the next connection is tried.
  case disconnected(Endpoint, reason: String, retryAfter: Duration)
  case goingAway(Endpoint, reason: String)
  case unanswered(Endpoint, pushes: Int)
  case held(Endpoint, reason: RejectionReason, until: Duration)
  /// Apple says that what we send is wrong; the push is rejected and the next ones will be too.
  case configurationRejected(Endpoint, reason: RejectionReason)
  case providerTokenFailed(reason: String)
}
