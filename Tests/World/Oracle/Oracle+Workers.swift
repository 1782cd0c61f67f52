import Kafka
import MemoryKafka
import Record
import Telemetry

/// What workers say of themselves when all is quiet again.
extension Oracle {
  func checkWorkers(_ statuses: [String: FanOutStatus]) {
    checkCommits()
    if world.broker.strayCommits > 0 {
      fail("workers have committed \(world.broker.strayCommits) offsets of others' partitions")
    }
    let alive = world.workers.filter(\.isAlive)
    var partitions = 0
    for worker in alive {
      var metrics = worker.metrics()
      metrics["fanfare_\(Self.streams)"] = metrics.filter {
        $0.key.hasPrefix("fanfare_\(Self.streams){")
      }.values.reduce(0, +)
      partitions += Int(metrics["fanfare_kafka_partitions"] ?? 0)
      for name in Self.nothing where metrics["fanfare_\(name)"] ?? 0 != 0 {
        fail("\(worker.name) has \(name) \(metrics["fanfare_\(name)"] ?? 0), and all is done")
      }
      for (name, value) in metrics.sorted(by: { $0.key < $1.key })
      where value != 0 && !mayBeHeld && Self.troubles.contains(where: { name.hasPrefix($0) }) {
        fail("\(worker.name) has \(name) \(value), and all is done")
      }
      if mayBeHeld { continue }
      let hasPartitions = metrics["fanfare_kafka_partitions"] ?? 0 > 0
      if metrics["fanfare_ready"] ?? 0 != (hasPartitions ? 1 : 0) {
        fail("\(worker.name) is ready: \(metrics["fanfare_ready"] ?? 0)")
      }
      checkHeartbeat(of: worker, metrics)
    }
    let all = world.workTopics.reduce(0) { $0 + world.partitions(of: $1).count }
    if partitions != all { fail("workers have \(partitions) partitions of \(all)") }
    if !plan.losesNotes { checkCounts(statuses) }
  }

  /// A push service could not be reached, took nothing, or has refused credentials, and perhaps
  /// nothing was sent since.
  private var mayBeHeld: Bool {
    faults.all.contains { deed in
      switch deed {
      case .apple(let fault, _), .service(_, let fault, _): fault.mayHold
      default: false
      }
    }
  }

  private static let streams = "push_streams_in_flight"
  private static let nothing = [
    "claims_held", "places_used", "segments_lingering", "pushes_ready", streams,
    "records_in_flight", "records_aside", "fanouts_active",
  ]
  private static let troubles = ["fanfare_obstacles", "fanfare_kafka_lag_events"]

  private func checkHeartbeat(of worker: WorldWorker, _ metrics: [String: Double]) {
    let heartbeat = world.hash(world.keyspace.worker(id: worker.name))
    for name in ["waits_for", "held_routes", "limits"] where heartbeat[name] ?? "none" != "" {
      fail("\(worker.name) says \(name) \(heartbeat[name] ?? "nothing"), and all is done")
    }
    let same = [
      ("partitions", "kafka_partitions"), ("records_in_flight", "records_in_flight"),
      ("ready", "pushes_ready"), ("streams", Self.streams),
      ("segments_lingering", "segments_lingering"),
    ]
    for (name, series) in same {
      let (said, measured) = (heartbeat[name] ?? "", metrics["fanfare_\(series)"])
      guard Double(said) != measured else { continue }
      fail("\(worker.name) has \(name) \(said), measured \(measured ?? -1)")
    }
  }

  /// Everything that is in Kafka is done, and who starts next begins behind it.
  private func checkCommits() {
    guard !plan.losesRecords else { return }
    let committed = world.broker.committed(by: World.group)
    for topic in world.workTopics {
      for partition in world.partitions(of: topic) {
        let (end, done) = (world.broker.end(of: partition) ?? 0, committed[partition] ?? 0)
        if done != end { fail("of \(partition) \(done) records are committed, of \(end)") }
      }
    }
  }

  /// What workers count is what the events do; of who died in between some may be missing.
  private func checkCounts(_ statuses: [String: FanOutStatus]) {
    let mayMiss = faults.all.contains { $0.maySendAgain }
    let sums: [(WorkerCounter, String, Int)] = [
      (.pushesAccepted, "accepted", sum(statuses) { $0.accepted }),
      (.pushesExpired, "expired", sum(statuses) { $0.expired }),
      (.pushesSuppressed, "suppressed", sum(statuses) { $0.suppressed }),
      (.pushesRejected, "rejected", sum(statuses) { $0.rejected.values.reduce(0, +) }),
      (.recipients, "recipients", sum(statuses) { $0.recipients }),
      (.retries, "retried", sum(statuses) { $0.retried }),
      (.segmentsSettled, "settled", sum(statuses) { $0.settled }),
      (.segmentsUnread, "unread", sum(statuses) { $0.unread }),
      (.tokensPruned, "pruned", sum(statuses) { $0.pruned }),
      (.tokensQuarantined, "quarantined", sum(statuses) { $0.quarantined }),
      (.tokensPruneRefused, "prune_refused", sum(statuses) { $0.pruneRefused }),
    ]
    for (counter, name, wanted) in sums {
      let counted = world.workers.reduce(0) { $0 + $1.counts[counter] }
      if counted > wanted || (!mayMiss && counted < wanted) {
        fail("workers have counted \(name) \(counted), events \(wanted)")
      }
    }
  }

  private func sum(_ statuses: [String: FanOutStatus], _ part: (FanOutStatus) -> Int) -> Int {
    statuses.values.reduce(0) { $0 + part($1) }
  }
}
