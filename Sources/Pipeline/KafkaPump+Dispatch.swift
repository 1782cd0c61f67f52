import EventLoop
import Ingest
import Kafka
import Telemetry

/// Records to lanes, as they have places, and back.
extension KafkaPump {
  func wakeRested() {
    guard !isDraining else { return }
    for index in intakes.indices { consumer.resume(intakes[index].wake(now: loop.now)) }
    dispatchAll()
  }

  func dispatchAll() {
    guard !isDraining else { return }
    for kind in WorkKind.allCases { dispatch(kind) }
  }

  func dispatch(_ kind: WorkKind) {
    let index = kind.rawValue
    while intakes[index].waiting > 0, let lane = loads.take(kind) {
      guard let record = intakes[index].next(now: loop.now) else {
        loads.giveBack(kind, lane: lane)
        break
      }
      begin(record, kind, lane)
    }
    let change = intakes[index].balance()
    consumer.pause(change.pause)
    consumer.resume(change.resume)
  }

  func begin(_ record: Intake.Record, _ kind: WorkKind, _ lane: Int) {
    let run = running.begin(record, kind, lane: lane)
    sayWhatIsTakenUp(record.message, kind)
    Task {
      let receipt = await lanes[lane].run(record.message, kind) {
        Task { await self.vacated(run) }
      }
      finished(run, receipt)
    }
  }

  /// One line for each large fan-out that this worker has a part in: its own, another's, or one
  /// that was under way before a restart.
  private func sayWhatIsTakenUp(_ message: KafkaMessage, _ kind: WorkKind) {
    guard kind == .segment, let event = SegmentRecord.event(ofKey: message.key),
      recentEvents.isNew(event)
    else { return }
    options.log.info(
      "fan-out taken up: this worker has segments of it",
      ["event": .text(event), "first": .text(message.place)])
  }

  /// The run has nothing left that was never tried: its place is the next record's.
  func vacated(_ identifier: Int) {
    vacate(identifier)
    dispatchAll()
  }

  func vacate(_ identifier: Int) {
    if let (kind, lane) = running.vacate(identifier) { loads.giveBack(kind, lane: lane) }
  }

  func finished(_ identifier: Int, _ receipt: Receipt) {
    if case .hopeless(let error) = receipt { return bury(identifier, error) }
    vacate(identifier)
    if let run = running.end(identifier) { end(run, receipt) }
    goOn()
  }

  /// Something has ended, or leaves its place.
  func goOn() {
    dispatchAll()
    giveUpRevokedWhenDone()
    if running.count <= held { resumeDrained() }
  }

  func end(_ run: RunningRecords.Run, _ receipt: Receipt) {
    switch receipt {
    case .done:
      offsets.finished(run.message.source, run.message.offset, run.number)
      hasNews = true
    case .again(let delay):
      guard !isDraining else { return }
      let record = Intake.Record(message: run.message, number: run.number)
      intakes[run.kind.rawValue].putAside(record, until: loop.now &+ delay.nanoseconds)
    case .notDone, .hopeless: return
    }
  }
}
