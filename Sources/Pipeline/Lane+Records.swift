import Expand
import Ingest
import Kafka
import Model
import Record
import Telemetry

/// From a Kafka record to settled segments.
extension Lane {
  /// Does all that a record asks for. Never throws: what cannot be done is dead-lettered, and what
  /// could not be done yet comes back as `.notDone`.
  package func run(_ message: KafkaMessage, _ kind: WorkKind) async -> Receipt {
    do {
      switch ingest.decode(message, now: options.deliver.wallClock()) {
      case .event(let event): try await fanOut(event, from: message)
      case .segment(let segment): try await resume(segment, from: message)
      case .malformed(let error): try await bury(message, error)
      }
      return .done
    } catch is Patience.Stopped {
      return .notDone
    } catch let burial as Burial {
      return .stuck(burial)
    } catch {
      // By `stop`, which closes the clients of the stages.
      guard !isStopping else { return .notDone }
      return await giveUp(message, error)
    }
  }

  /// Redis holds what the contract rules out, or answers what we do not know. Waiting mends
  /// neither, and a record that is never done would hold up its partition's offset for good.
  private func giveUp(_ message: KafkaMessage, _ error: any Error) async -> Receipt {
    do {
      try await bury(message, IngestError(.unprocessable, "\(error)"))
      return .done
    } catch let burial as Burial {
      return .stuck(burial)
    } catch {
      return .notDone
    }
  }

  private func fanOut(_ event: Event, from message: KafkaMessage) async throws {
    guard render.template(named: event.template) != nil else {
      let reason = "the template \(event.template) is not loaded"
      return try await bury(message, IngestError(.unknownTemplate, reason))
    }
    let now = options.deliver.wallClock()
    guard !event.isExpired(at: now) else { return try await expire(event, from: message) }
    var audience = try await persistent("Redis has the audience") {
      try await expand.audience(of: event.streamer)
    }
    let opening = try await persistent("Redis opens the fan-out") {
      try await record.open(event: event, audience: audience, source: message.place, now: now)
    }
    switch opening {
    case .duplicate:
      counters.add(.eventsDuplicate)
      options.log.notice("duplicate event dropped", ["event": .text(event.id)])
      return
    case .finished: return
    case .resumed(let plan):
      counters.add(.eventsResumed)
      audience = plan
    case .new:
      counters.add(.eventsOK)
      options.log.info(
        "fan-out started",
        ["event": .text(event.id), "segments": .integer(audience.segmentCount)])
    }
    try await plan(audience.segments(of: event))
  }

  /// One segment runs here and now; many go to all lanes of all workers through Kafka.
  private func plan(_ segments: [Segment]) async throws {
    if segments.count == 1 {
      try await resume(segments[0], from: nil)
      return
    }
    var window: [Task<Void, any Error>] = []
    for segment in segments {
      let (key, value) = SegmentRecord.encode(segment)
      window.append(Task { try await self.publish(options.ingest.segmentsTopic, key, value, []) })
      if window.count == 256 {
        for task in window { try await task.value }
        window = []
      }
    }
    for task in window { try await task.value }
  }

  /// A segment that may have been done before, by us or another.
  private func resume(_ segment: Segment, from message: KafkaMessage?) async throws {
    let isSettled = try await persistent("Redis knows the segment") {
      try await record.isSettled(segment)
    }
    guard !isSettled else { return }
    if let message, render.template(named: segment.event.template) == nil {
      let reason = "the template \(segment.event.template) is not loaded"
      return try await bury(message, IngestError(.unknownTemplate, reason))
    }
    try await process(segment)
  }

  private func expire(_ event: Event, from message: KafkaMessage) async throws {
    let expiry = try await persistent("Redis takes the expired event") {
      try await record.expire(
        event: event, source: message.place, now: options.deliver.wallClock())
    }
    counters.add(expiry == .duplicate ? .eventsDuplicate : .eventsExpired)
    options.log.notice("event expired before it was read", ["event": .text(event.id)])
  }

  /// A record that no try will make better goes to the dead letters, whole, with its reason. Throws
  /// the `Burial` when they do not take it.
  private func bury(_ message: KafkaMessage, _ error: IngestError) async throws {
    let time = WallClock.rfc3339(options.deliver.wallClock())
    let letter = DeadLetter(message, error: error, worker: options.workerID, time: time)
    let burial = Burial(letter: letter, place: message.place, error: error)
    do {
      try await write(letter)
    } catch {
      options.log.error(
        "the dead letters take nothing; the record's partition waits",
        ["record": .text(burial.place), "error": .text("\(error)")])
      throw burial
    }
    buried(burial)
  }

  /// Tries until the dead letters take what they would not take at first, or the worker stops.
  package func bury(_ burial: Burial) async -> Receipt {
    do {
      try await patience.persist(
        "Kafka takes dead letters", isTransient: { (_: KafkaError) in true },
        call: { () async throws(KafkaError) in try await write(burial.letter) })
    } catch {
      return .notDone
    }
    buried(burial)
    return .done
  }

  private func write(_ letter: DeadLetter) async throws(KafkaError) {
    do {
      try await send(letter)
    } catch {
      guard error.code == .tooLarge else { throw error }
      // A record just under the topic's limit is over it with our headers.
      try await send(letter.abridged())
    }
  }

  private func send(_ letter: DeadLetter) async throws(KafkaError) {
    _ = try await producer.send(
      topic: options.ingest.deadLettersTopic, key: letter.key, value: letter.value,
      headers: letter.headers)
  }

  private func buried(_ burial: Burial) {
    counters.add(.eventsMalformed)
    options.log.warning(
      "record sent to the dead letters",
      ["record": .text(burial.place), "error": .text("\(burial.error)")])
  }

  /// Waits as long as Kafka does not take the record, whatever the reason: giving up would lose it.
  /// Only a record that is too large comes back as an error.
  private func publish(
    _ topic: String, _ key: [UInt8]?, _ value: [UInt8]?, _ headers: [KafkaHeader]
  ) async throws {
    _ = try await patience.persist(
      "Kafka takes records for \(topic)",
      isTransient: { (error: KafkaError) in error.code != .tooLarge },
      call: { () async throws(KafkaError) in
        try await producer.send(topic: topic, key: key, value: value, headers: headers)
      })
  }

  private func persistent<T>(_ what: String, _ call: () async throws -> T) async throws -> T {
    try await patience.persist(what, isTransient: Self.isTransient, call: call)
  }

  private static func isTransient(_ error: any Error) -> Bool {
    switch error {
    case let error as ExpandError: error.isTransient
    case let error as RecordError: error.isTransient
    default: false
    }
  }
}
