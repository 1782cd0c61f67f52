import APNsSimulator

/// One thing that is done in a life, or goes wrong in it. Users, streamers, events and workers are
/// numbers of the plan.
package enum Deed: Sendable {
  // The backends.
  case emit(event: Int)
  case emitAgain(event: Int)
  case emitNonsense
  case bind(user: Int)
  case unbind(user: Int)
  case move(from: Int, to: Int)
  case follow(user: Int, streamer: Int)
  case unfollow(user: Int, streamer: Int)
  case forget(user: Int)
  case divide(streamer: Int)
  case pause(event: Int, Duration)
  case cancel(event: Int)
  case endStream(event: Int)
  // Pods come and go.
  case start(worker: Int)
  case stop(worker: Int)
  // What goes wrong.
  /// In the middle of what it does: when its loops have had so many turns more.
  case kill(worker: Int, afterTurns: Int)
  case freeze(worker: Int, Duration)
  case skew(worker: Int, milliseconds: Int64, Duration)
  case apple(ServiceFault, Duration)
  /// In a world with all platforms.
  case service(LifeService, ServiceFault, Duration)
  case redis(RedisFault, Duration)
  case kafka(KafkaFault, Duration)

  package var isFault: Bool {
    switch self {
    case .kill, .freeze, .skew, .apple, .service, .redis, .kafka: true
    default: false
    }
  }
}

/// Push services besides Apple's.
package enum LifeService: Sendable {
  case fcm
  /// One of `WorldWebPush.hosts`, by its index. What scripts do, all of them do.
  case browsers(Int)
}

/// What goes wrong with a push service.
package enum ServiceFault: Sendable {
  case refused, silent, cut
  case slow(Duration)
  case pieces(Int)
  /// Shares of the pushes get other answers.
  case mix(String)
  case goAway(after: Int, behind: Int)
  case streams(Int)
  case window(Int)
  case dropAfter(Int)
  case latency(Duration)
  // Of FCM alone.
  /// Messages that the project may send in a minute.
  case quota(Int)
  /// The access tokens that there are have expired.
  case tokensExpire
  /// So many questions for an access token are answered with 503.
  case noTokens(Int)
}

package enum RedisFault: Sendable {
  /// `readOnly`: it has become a replica, and nobody has told its clients.
  case refused, silent, cut, loading, outOfMemory, readOnly
  case slow(Duration)
  /// Of the next commands, so many that are scripts are carried out and never answered.
  case losesReplies(Int)
  case denies(String)
  /// A replica takes its place, without the last writes.
  case failOver(lost: Int)
}

package enum KafkaFault: Sendable {
  case away, rebalance
  case cut(worker: Int)
  case evict(worker: Int)
  case commitsRefused(Int)
  case producesRefused(Int)
  /// Written or not, and nobody is told.
  case producesUnanswered(Int)
  /// The last record of each partition of a topic stands there twice.
  case twice(topic: Int)
  case controlRecords
  /// The oldest records of a topic go, read or not, all but so many.
  case retention(topic: Int, keeps: Int)
}

// MARK: - In words

extension Deed: CustomStringConvertible {
  package var description: String {
    switch self {
    case .emit(let event): "event e\(event) is emitted"
    case .emitAgain(let event): "event e\(event) is emitted again"
    case .emitNonsense: "a record that is no event is written"
    case .bind(let user): "u\(user) logs in with a new device"
    case .unbind(let user): "u\(user) logs out"
    case .move(let from, let to): "u\(to) logs in with a device of u\(from)"
    case .follow(let user, let streamer): "u\(user) follows s\(streamer)"
    case .unfollow(let user, let streamer): "u\(user) unfollows s\(streamer)"
    case .forget(let user): "u\(user) is forgotten"
    case .divide(let streamer): "the followers of s\(streamer) are divided again"
    case .pause(let event, let duration): "event e\(event) is paused for \(duration)"
    case .cancel(let event): "event e\(event) is cancelled"
    case .endStream(let event): "the stream of event e\(event) ends"
    case .start(let worker): "w\(worker) starts"
    case .stop(let worker): "w\(worker) is stopped"
    case .kill(let worker, let turns): "w\(worker) is killed after \(turns) turns"
    case .freeze(let worker, let duration): "w\(worker) stands still for \(duration)"
    case .skew(let worker, let milliseconds, let duration):
      "the clock of w\(worker) is \(milliseconds) ms ahead for \(duration)"
    case .apple(let fault, let duration): "Apple for \(duration): \(fault)"
    case .service(.fcm, let fault, let duration): "FCM for \(duration): \(fault)"
    case .service(.browsers(let service), let fault, let duration):
      "push service \(service) of browsers for \(duration): \(fault)"
    case .redis(let fault, let duration): "Redis for \(duration): \(fault)"
    case .kafka(let fault, let duration): "Kafka for \(duration): \(fault)"
    }
  }
}

// MARK: - What a fault may cost

extension ServiceFault {
  /// Whether a push that the service took may be sent once more.
  var maySendAgain: Bool {
    switch self {
    case .silent, .cut, .dropAfter: true
    case .mix(let text): text.utf8.starts(with: "drop".utf8)
    default: false
    }
  }

  /// Whether bytes that were sent may arrive much later.
  var holdsUp: Bool {
    switch self {
    case .silent, .window, .pieces: true
    // The service keeps the last requests of a connection until its GOAWAY, or the end of the
    // fault.
    case .goAway(_, let behind): behind > 0
    default: false
    }
  }

  /// Whether a route may be held or closed, and perhaps nothing is sent on it afterwards.
  var mayHold: Bool {
    switch self {
    case .refused, .silent, .streams(0...1), .quota, .tokensExpire, .noTokens: true
    case .goAway(_, let behind): behind > 0
    case .mix(let text): Self.ofCredentials.contains { text.contains($0) }
    default: false
    }
  }

  /// Shares of a mix that say something of credentials.
  private static let ofCredentials = ["Provider", "forbidden", "expired_bearer", "bad_key"]
}

extension Deed {
  /// Claims that nobody renews for so long may end, and others send again what was sent.
  private static let claimsMayEnd: Duration = .seconds(4)

  /// Whether a push that Apple took before it, or in it, may be sent once more.
  var maySendAgain: Bool {
    switch self {
    case .kill, .freeze: true
    case .apple(let fault, _), .service(_, let fault, _): fault.maySendAgain
    case .redis(.failOver(let lost), _): lost > 0
    case .redis(_, let duration): duration > Self.claimsMayEnd
    default: false
    }
  }

  /// Whether it is about a push service.
  var isOfService: Bool {
    switch self {
    case .apple, .service: true
    default: false
    }
  }

  /// Whether what the product noted in Redis may be gone.
  var losesNotes: Bool {
    if case .redis(.failOver(let lost), _) = self { lost > 0 } else { false }
  }

  /// Whether an event may expire before all of its followers can be read.
  var hindersReading: Bool { if case .redis = self { true } else { false } }

  /// Whether records may be gone that nobody has read.
  var losesRecords: Bool {
    if case .kafka(.retention, _) = self { true } else { false }
  }

  var needsReplica: Bool { if case .redis(.failOver, _) = self { true } else { false } }

  /// How far it sets a worker's clock ahead.
  var clockLead: Duration {
    if case .skew(_, let milliseconds, _) = self { .milliseconds(milliseconds) } else { .zero }
  }

  /// How long it lasts.
  var duration: Duration {
    switch self {
    case .freeze(_, let duration), .skew(_, _, let duration), .pause(_, let duration),
      .apple(_, let duration), .service(_, _, let duration), .redis(_, let duration),
      .kafka(_, let duration):
      duration
    default: .zero
    }
  }
}
