import Kafka
import MemoryRedis
import Text

/// Says at every push, at every commit and at the end whether a world has kept what Fanfare
/// promises. It knows what the backends did, what reached Apple, and what went wrong; of the
/// product it reads what operators can read.
package final class Oracle {
  package private(set) var violations: [String] = []
  let world: World
  let truth: Truth
  let plan: LifePlan
  let book = PushBook()
  var events: [EventTruth]
  var devices: [Int: WorldDevice] = [:]
  private(set) var faults = FaultTimes()
  private var committed: [KafkaPartition: Int64] = [:]

  /// A push that was sent in time may be under way for so long.
  private static let transit: Duration = .milliseconds(2_500)
  /// Pushes stop so long after the answer to a cancel or a pause.
  private static let haltTakes: Duration = .seconds(2)
  private static let maximumViolations = 20

  init(_ world: World, _ truth: Truth, _ plan: LifePlan) {
    self.world = world
    self.truth = truth
    self.plan = plan
    events = plan.events.indices.map {
      EventTruth(id: "e\($0)", streamer: plan.events[$0].streamer)
    }
    world.whenPushed = { [unowned self] in pushed($0) }
    world.broker.whenCommitted = { [unowned self] in committed($0) }
  }

  var now: UInt64 { world.scheduler.now }

  func note(_ deed: Deed) { faults.add(deed, from: now) }

  func fail(_ text: String) {
    guard violations.count < Self.maximumViolations else { return }
    let line = "violation at \(world.time): \(text)"
    violations.append(line)
    world.lines.add(line)
  }

  // MARK: at every push

  private func pushed(_ push: WorldPush) {
    let device = push.device
    let number = PushBook.event(of: push.payload)
    // The book has an entry for each device up to the highest.
    guard device < truth.devices else { return fail("device \(device) of nobody got a push") }
    book.add(event: number, device: device, push.answer, at: now)
    guard let number, events.indices.contains(number) else {
      return fail(
        "device \(device) got a push of no event, \(push.payload.count) bytes: "
          + String(decoding: push.payload.suffix(80), as: UTF8.self))
    }
    let event = events[number]
    world.lines.note(UInt64(number) << 32 | UInt64(device))
    world.lines.print?("\(push.platform): \(event.id) device \(device): \(push.answer)")
    let end = event.mayGoOn ? now : event.over
    if !truth.mayReach(device, of: event.streamer, event.begins, end) {
      fail("\(event.id) reached device \(device), whose user was never to get it")
    }
    checkTime(event, device)
    checkIsNotOver(event, device)
  }

  /// Behind the end of an event nothing of it is sent.
  private func checkIsNotOver(_ event: EventTruth, _ device: Int) {
    guard event.over != .max, !event.mayGoOn, now > event.over &+ Self.transit.nanoseconds,
      !isHeldUp(before: now),
      !faults.any(from: event.begins, to: now, { $0.maySendAgain || $0.losesNotes })
    else { return }
    fail("\(event.id) reached device \(device) when it was over")
  }

  private func checkTime(_ event: EventTruth, _ device: Int) {
    let late = world.wallClock() - event.expiresAt
    if late > Self.transit.wholeMilliseconds, !isHeldUp(before: now) {
      fail("\(event.id) reached device \(device) \(late) ms after its expiry")
    }
    let limit = Self.haltTakes + Self.transit
    let isDeaf = { (from: UInt64) in
      self.isHeldUp(before: self.now)
        || self.faults.any(from: from, to: self.now, after: .seconds(6)) { $0.keepsFromHearing }
    }
    if event.cancelled != .max, now > event.cancelled &+ limit.nanoseconds, !isDeaf(event.cancelled)
    {
      fail("\(event.id) reached device \(device) long after it was cancelled")
    }
    for pause in event.pauses
    where now > pause.from &+ limit.nanoseconds && now < pause.to && !isDeaf(pause.from) {
      fail("\(event.id) reached device \(device) while it was paused")
    }
  }

  /// Whether what was sent long before may arrive at that time.
  private func isHeldUp(before time: UInt64) -> Bool {
    faults.any(from: time, to: time, after: .seconds(25)) { $0.holdsUp }
  }

  // MARK: at every commit

  /// An offset never passes what is not done.
  private func committed(_ offsets: [KafkaPartition: Int64]) {
    for (partition, offset) in offsets.sorted(by: { "\($0.key)" < "\($1.key)" }) {
      let before = committed[partition] ?? 0
      committed[partition] = max(before, offset)
      guard offset > before, partition.topic != world.ingest.eventsTopic,
        !plan.losesNotes || plan.waitsForReplicas
      else { continue }
      for (place, record) in world.broker.records(of: partition)
      where place >= before && place < offset {
        checkDone(record.key ?? [], "\(partition) \(place)")
      }
    }
  }

  private func checkDone(_ key: [UInt8], _ source: String) {
    guard let slash = key.firstIndex(of: UInt8(ascii: "/")) else { return }
    let event = String(decoding: key[..<slash], as: UTF8.self)
    let segment = String(decoding: key[(slash + 1)...], as: UTF8.self)
    let settled = world.keyspace.settled(id: event)
    if plan.waitsForReplicas, isSettled(segment, of: event),
      world.redis.isCopied(segment, of: settled) == false
    {
      fail("\(source) is committed, and that \(event)'s \(segment) is settled may be lost")
    }
    guard !plan.losesNotes, !segment.utf8.starts(with: "plan".utf8), !restsAgain(key) else {
      return
    }
    let isDone =
      isSettled(segment, of: event) || isOrphan(segment, of: event)
      || world.holds(world.keyspace.deadLetters(id: event), segment)
    if !isDone { fail("\(source) is committed, and segment \(segment) of \(event) is not settled") }
  }

  private func isSettled(_ segment: String, of event: String) -> Bool {
    world.holds(world.keyspace.settled(id: event), segment)
  }

  /// Whether a segment of stragglers was written by a worker that no longer had the claim: somebody
  /// else has settled what it is from, without it.
  private func isOrphan(_ segment: String, of event: String) -> Bool {
    guard let mark = segment.firstIndex(of: "~") else { return false }
    let planned = world.ask("SISMEMBER", world.keyspace.stragglers(id: event), segment)
    return planned == .integer(0) && isSettled(String(segment[..<mark]), of: event)
  }

  /// Whether a record of stragglers was deferred: written once more, for later.
  private func restsAgain(_ key: [UInt8]) -> Bool {
    world.partitions(of: world.ingest.stragglersTopic).contains { partition in
      world.broker.records(of: partition).contains {
        $0.offset >= committed[partition] ?? 0 && $0.record.key == key
      }
    }
  }

  // MARK: every now and then

  /// Looks which events are over. Returns whether all are that were written.
  func look() -> Bool {
    var areOver = true
    for index in events.indices
    where events[index].isWritten && (events[index].over == .max || events[index].mayGoOn) {
      let state = world.field(world.keyspace.event(id: events[index].id), "state")
      guard let state, state != "running" else {
        // Nobody has read it, and perhaps nobody ever can.
        let isLost = state == nil ? plan.losesRecords : isForgotten(index)
        if !isLost { areOver = false }
        if state != nil { events[index].over = .max }
        continue
      }
      guard events[index].over == .max || events[index].state != state else { continue }
      events[index].over = now
      events[index].state = state
    }
    checkHeartbeats()
    return areOver
  }

  /// Whether the worker that began an event died before any other could know of it, and Kafka has
  /// thrown its record away, or a fail-over has undone that it was known: nobody comes to it any
  /// more.
  func isForgotten(_ index: Int) -> Bool {
    (plan.losesRecords || plan.losesNotes)
      && !world.entries(world.keyspace.statsFanOuts).contains { $0["event"] == events[index].id }
  }

  /// No queue of a worker is longer than it may be.
  private func checkHeartbeats() {
    // Apple's two environments; FCM and each push service of browsers.
    let routes = plan.hasAllPlatforms ? 3 + WorldWebPush.hosts.count : 2
    for worker in 0..<plan.workers {
      for (name, most) in Self.maxima(routes: routes) {
        guard let text = world.field(world.keyspace.worker(id: "w\(worker)"), name),
          let value = Int(text)
        else { continue }
        if value > most * plan.lanes { fail("w\(worker) has \(name) \(value)") }
      }
    }
  }

  /// Of a lane: what docs and options bound.
  private static func maxima(routes: Int) -> [(String, Int)] {
    [
      ("ready", 16_384), ("streams", routes * 525), ("segments_lingering", 1_024),
      ("connections", routes * 2), ("records_in_flight", 8_192),
    ]
  }
}

extension Deed {
  /// Whether bytes that were sent may arrive much later.
  fileprivate var holdsUp: Bool {
    switch self {
    case .freeze, .skew: true
    case .apple(let fault, _), .service(_, let fault, _): fault.holdsUp
    default: false
    }
  }

  /// Whether a worker may not hear what is said in Redis.
  fileprivate var keepsFromHearing: Bool {
    switch self {
    case .freeze, .redis: true
    default: false
    }
  }
}

extension LifePlan {
  var losesNotes: Bool { deeds.contains { $0.deed.losesNotes } }
  var losesRecords: Bool { deeds.contains { $0.deed.losesRecords } }
  /// Whether what is settled is to outlive Redis' master.
  var waitsForReplicas: Bool { seed % 4 == 1 && deeds.contains { $0.deed.needsReplica } }
}
