import APNsSimulator
import Record
import ServerProcesses
import TestBed
import Testing

/// A bed, a fleet around it, and the events that it is given.
struct EnduranceBed {
  let bed: WorkerBed
  let fleet: Fleet

  /// On an Apache Kafka where there is one.
  static func make(settings: [String] = []) async throws -> EnduranceBed {
    let kafka = RealKafka.home == nil ? nil : try RealKafka()
    var script = SimulatorScript()
    script.latency = Fleet.latency
    let bed = try await WorkerBed(kafka: kafka, partitions: 12, script: script)
    return EnduranceBed(bed: bed, fleet: Fleet(bed, settings: settings))
  }

  func emit(_ crowd: Crowd) async throws {
    try await bed.emit(crowd.event, streamer: crowd.streamer, expiresIn: 7200)
  }

  /// Waits until so much of the event is settled, and more is to come.
  func settled(_ share: Double, of crowd: Crowd) async throws {
    let status = try await progress(of: crowd) { status in
      Double(status.settled) >= share * Double(max(status.segments, crowd.tokens.count))
    }
    #expect(status.state == .running, "the event was over before its middle")
  }

  func settled(allBut count: Int, of crowd: Crowd) async throws {
    _ = try await progress(of: crowd) { $0.settled + count >= $0.segments + $0.stragglers }
  }

  func finished(_ crowds: [Crowd]) async throws {
    for crowd in crowds { _ = try await progress(of: crowd) { $0.state != .running } }
  }

  /// However long it takes, as long as it goes on.
  private func progress(
    of crowd: Crowd, until isThere: @Sendable (FanOutStatus) -> Bool
  ) async throws -> FanOutStatus {
    var last: FanOutStatus?
    while true {
      let before = last
      let status = try await bed.until("\(crowd.event) goes on") {
        let status = try await bed.status(crowd.event)
        return status == before ? nil : status
      }
      if isThere(status) { return status }
      last = status
    }
  }

  /// Until `moment`, which is a cadence and nothing that a test judges by.
  func wait(until moment: ContinuousClock.Instant) async throws {
    _ = try await bed.until("the moment") { ContinuousClock.now >= moment ? true : nil }
  }

  /// `Tests/run --endurance` shows these lines.
  static func report(_ text: String) { print("==> \(text)") }
}
