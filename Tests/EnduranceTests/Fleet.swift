import Glibc
import Keyspace
import Processes
import TestBed

/// Workers as processes, each with the right to send some segments at any time.
actor Fleet {
  /// A segment that a worker had the right to send when something happened to it: what a crash may
  /// send again.
  struct InFlight: Hashable {
    let event: String
    let segment: String
    /// One run of the segment: a second one is another.
    let owner: String
  }

  let bed: WorkerBed
  private let settings: [String]
  private var workers: [String: ChildProcess] = [:]

  /// Two lanes of two connections of so many streams, which an answer every 40 ms sets the pace of:
  /// some 2,500 pushes a second and worker, less than two cores can do for four of them.
  static let streams = 25
  static let latency: Duration = .milliseconds(40)
  /// What may be on the wire of one worker.
  static let onTheWire = 2 * 2 * streams

  /// - Parameter settings: where they set another pace, theirs counts.
  init(_ bed: WorkerBed, settings: [String] = []) {
    self.bed = bed
    self.settings = ["apns.streams_per_connection=\(Self.streams)"] + settings
  }

  /// Returns when each of them has partitions.
  func start(_ ids: [String]) async throws {
    for id in ids { try begin(id) }
    for id in ids {
      if let worker = workers[id] { try await bed.hasPartitions(worker, id) }
    }
  }

  func begin(_ id: String, settings more: [String] = []) throws {
    workers[id] = try bed.beginProcess(
      id, executable: WorkerExecutable.path, settings: settings + more)
  }

  /// Ends it in good order; its exit code.
  func stop(_ id: String) -> Int32? { workers.removeValue(forKey: id)?.stop(SIGTERM) }

  /// What it had in flight, of these events, when it was killed.
  func kill(_ id: String, _ events: [String]) async throws -> Set<InFlight> {
    workers.removeValue(forKey: id)?.stop(SIGKILL)
    return try await inFlight(of: id, events)
  }

  /// What it has in flight while it stands still.
  func freeze(_ id: String, _ events: [String]) async throws -> Set<InFlight> {
    workers[id]?.signal(SIGSTOP)
    return try await inFlight(of: id, events)
  }

  func thaw(_ id: String) { workers[id]?.signal(SIGCONT) }

  var isWhole: Bool { workers.values.allSatisfy(\.isRunning) }

  /// What Redis says of a worker that does not answer: it claims a segment before it sends the
  /// first push, and gives the claim up with the settling.
  private func inFlight(of id: String, _ events: [String]) async throws -> Set<InFlight> {
    let keyspace = bed.keyspace
    let claims = try await bed.withRedis { redis in
      var claims: [(event: String, claims: [String: String])] = []
      for event in events {
        claims.append((event, try await redis.table(keyspace.claims(id: event))))
      }
      return claims
    }
    return Set(
      claims.flatMap { event, claims in
        claims.filter { $0.value.hasPrefix("\(id)/") }.map {
          InFlight(event: event, segment: $0.key, owner: String($0.value.prefix { $0 != " " }))
        }
      })
  }
}
