import Model
import Transport

package struct DeliverOptions: Sendable {
  /// Servers answer within some tenths of a second, and a new connection takes less than this.
  private static let answerLimit: Duration = .seconds(1)
  /// Far longer than a server in order takes to answer.
  private static let overdueAfter: Duration = .seconds(5)
  /// A server that is not heard of for so long, though it should answer at once, is away.
  private static let roundTripTimeout: Duration = .seconds(10)

  package var routes: [Destination: RouteTarget] = [:]
  /// Connections of a lane to each destination. Spread over many, there are no bursts on a few.
  package var connectionsPerRoute = 2
  /// Under load as many as this; nil: no more.
  package var mostConnectionsPerRoute: Int?
  /// How often routes are looked at.
  package var tickInterval: Duration = .nanoseconds(Int64(Evidence.askAgainAfter))
  /// While all connections of a route are full for so long, another is opened.
  package var growAfter: Duration = .seconds(2)
  /// One of those that was not needed for so long is closed.
  package var shrinkAfter: Duration = .seconds(300)
  /// Streams in flight on a connection at most, whatever the server allows: more only costs memory.
  package var streamsPerConnection = 500
  /// Pushes of each destination that can be sent and wait for a stream at most, those of one-shard
  /// events and of outliers apart, and as many again of fan-outs that come while others have taken
  /// all this; plus one batch of each segment in flight.
  package var readyPushes = 1024
  /// Pushes of each environment that wait for something else at most: the end of a back-off, a
  /// connection, credentials. Each keeps a batch in memory; beyond this they leave their segment.
  package var waitingPushes = 8192
  /// Without an open connection for so long, a route is closed: nobody waits for it any more.
  package var closedAfter = Self.answerLimit
  /// Connections that are open and take nothing for so long count as none, and probe connections
  /// that cannot be had are not waited for.
  package var stalledAfter: Duration = .seconds(3)
  /// A connection with nothing in flight that takes nothing for so long, while pushes wait, is
  /// replaced: another may take them.
  package var replacedAfter = Self.overdueAfter
  /// An environment whose pushes wait longer than this for a stream is slow: those of other
  /// environments do not wait for it.
  package var congestedAfter = Self.answerLimit
  /// Batches of a lane that wait for a slow environment alone, so that it has its pushes in time.
  /// Half of a lane's slots for segments: the other half is for those who need not wait.
  package var waitersForSlow = 2
  /// A stream without an answer is given up after this.
  package var requestTimeout: Duration = .seconds(30)
  /// So is one that others have overtaken: the server answers, but not this push.
  package var passedOverAfter = Self.overdueAfter
  package var connectTimeout = Self.roundTripTimeout
  /// A connection without traffic is asked for a sign of life after this.
  package var pingInterval: Duration = .seconds(3600)
  /// A PING without an answer closes the connection after this.
  package var pingTimeout = Self.roundTripTimeout
  /// A connection that has been quiet for longer is asked for a sign of life before it is sent on.
  package var idleBeforePing: Duration = .nanoseconds(Int64(Evidence.memory))
  /// Without that sign it is replaced after this.
  package var livenessTimeout = Self.answerLimit
  package var retry = RetryPolicy()
  /// How long nothing is sent for a topic after our credentials were refused for it.
  package var credentialHold: Duration = .seconds(15)
  /// Ms since 1970; what expiry is measured against.
  package var wallClock: @Sendable () -> Int64
  /// Called with notices for the operator.
  package var report: @Sendable (DeliverNotice) -> Void

  package init(
    wallClock: @escaping @Sendable () -> Int64,
    report: @escaping @Sendable (DeliverNotice) -> Void = { _ in }
  ) {
    self.wallClock = wallClock
    self.report = report
  }

  /// The memory of a route's connections at most, in one lane: as many as are given, one more while
  /// another is made, and probe connections. A connection's buffers (its own, those of TLS and
  /// HTTP/2) take up to 512 KiB, each of its streams up to 2 KiB.
  /// - Parameter connections: under load.
  package static func maximumConnectionBytes(connections: Int, streams: Int) -> Int {
    func bytes(streams: Int) -> Int { 512 << 10 + streams * (2 << 10) }
    let probes = Evidence.mostAsking * bytes(streams: ProbeQueue.most)
    return (connections + 1) * bytes(streams: streams) + probes
  }
}

/// A server that pushes of one destination go to.
package struct PushServer: Sendable, Hashable {
  package let destination: Destination
  package let endpoint: Endpoint

  package init(_ destination: Destination, _ endpoint: Endpoint) {
    self.destination = destination
    self.endpoint = endpoint
  }
}

/// A notice of Deliver's to the operator. None of it holds a device token or a secret.
package enum DeliverNotice: Sendable, Equatable {
  case connected(PushServer)
  /// `retryAfter`: when the next connection is tried.
  case disconnected(PushServer, reason: String, retryAfter: Duration)
  /// The server's GOAWAY: a connection takes no more pushes. `retryAfter`: when another takes its
  /// place.
  case goingAway(PushServer, reason: String, retryAfter: Duration)
  /// A connection takes no more pushes for a reason of ours.
  case retired(PushServer, reason: String, retryAfter: Duration)
  /// A lane has another number of connections from now on, by its load.
  case resized(PushServer, connections: Int)
  case unanswered(PushServer, pushes: Int)
  /// A connection ended with pushes in flight, which are sent again.
  case lost(PushServer, pushes: Int, reason: String)
  /// Pushes were taken for accepted for want of an answer, before the server said that it had
  /// refused them, or thrown them away.
  case refusedLate(Endpoint, pushes: Int)
  /// The server says that what we send is wrong. The push is rejected, and so will be the next
  /// ones, unless the endpoint of a client's is at fault.
  case configurationRejected(PushServer, reason: RejectionReason)
  /// The server says something that its platform does not document: the first time that it does.
  case unknownAnswer(PushServer, UnknownAnswer)
  /// Pushes of a route or topic cannot be sent from now on. It may take another's place, which has
  /// no end of its own then.
  case obstacleBegan(RouteObstacle)
  /// They can again.
  case obstacleEnded(RouteObstacle)
}
