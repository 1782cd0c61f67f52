import EventLoop
import Keyspace
import Record
import Redis
import Terminal

/// The wishes of somebody who taps.
package struct TapOptions: Sendable {
  package var filter = TapFilter()
  /// Samples a second of all workers together, 1…`TapRequest.maximumRate`.
  package var rate = 20
  /// Ends after so many samples; nil: when it is stopped.
  package var count: Int?
  package var isJSON = false

  package init() {}
}

/// Keeps a tap's request alive, and prints the samples that come. Confined to its loop.
package final class TapSession {
  /// A third of a request's lifetime.
  private static let keepInterval: UInt64 = 5_000_000_000
  private static let readInterval: Duration = .milliseconds(250)
  /// Workers look for taps with their heartbeats, which come each 20 s at the latest.
  private static let noticeAfter: UInt64 = 25_000_000_000

  private let options: TapOptions
  private let record: RecordStage
  private let id: String
  private let secret: String
  private let output: Console
  private let errors: Console
  private let clock: WatchClock
  private let beganAt: UInt64
  private var keptAt: UInt64?
  /// In the stream; nil before it was read.
  private var place: String?
  private var shown = 0
  private var hasComplained = false
  private var isAway = false

  /// - Parameters:
  ///   - id: the tap's own, another one each time.
  ///   - secret: of 128 random bits: the key of the tokens' hashes, unless another tap runs.
  package init(
    _ options: TapOptions, _ redis: RedisClient, _ keyspace: Keyspace, id: String, secret: String,
    on output: Console, errors: Console, clock: WatchClock
  ) {
    self.options = options
    record = RecordStage(redis: redis, keyspace: keyspace)
    self.id = id
    self.secret = secret
    self.output = output
    self.errors = errors
    self.clock = clock
    beganAt = clock.nanoseconds()
  }

  /// Returns when it is stopped, has shown its count, or nobody reads any more.
  package func run(
    until signals: StopSignals, isolation actor: isolated LoopActor
  ) async throws(CommandFailure) {
    errors.line("waiting for outcomes: workers look for taps with their heartbeats")
    var goesOn = true
    while goesOn, !signals.isRaised {
      guard try await isKept() else {
        throw CommandFailure(
          .retryLater, "\(TapRequest.maximumTaps) taps run already: wait until one ends")
      }
      goesOn = try await read()
      if goesOn { await actor.wait(Self.readInterval) }
    }
    // Without it the request ends by itself within 15 s.
    try? await record.endTap(id)
  }

  /// False when there are too many taps.
  private func isKept() async throws(CommandFailure) -> Bool {
    let now = clock.nanoseconds()
    if let keptAt, now &- keptAt < Self.keepInterval { return true }
    do throws(RecordError) {
      guard
        try await record.keepTap(id, options.filter, rate: options.rate, secret: secret)
      else { return false }
      keptAt = now
    } catch {
      try report(error)
    }
    return true
  }

  /// False when it has shown its count, or nobody reads any more.
  private func read() async throws(CommandFailure) -> Bool {
    do throws(RecordError) {
      if place == nil { place = try await record.tapEnd() }
      let read = try await record.tapSamples(after: place ?? "0-0")
      place = read.place
      isAway = false
      for sample in read.samples where options.filter.takes(sample) {
        guard show(sample), shown < options.count ?? .max else { return false }
      }
      guard shown == 0, !hasComplained, clock.nanoseconds() &- beganAt > Self.noticeAfter else {
        return true
      }
      hasComplained = true
      let workers = try await record.beatingWorkers(atMost: 1).all
      errors.line("no outcome yet that matches; workers that beat: \(workers)")
    } catch {
      try report(error)
    }
    return true
  }

  /// Redis comes back, or the command ends.
  private func report(_ error: RecordError) throws(CommandFailure) {
    guard error.isTransient else { throw CommandFailure(.failed, error.description) }
    if !isAway { errors.line(TextLayout.printable(error.description)) }
    isAway = true
  }

  private func show(_ sample: TapSample) -> Bool {
    shown += 1
    guard !options.isJSON else { return output.line(TapLine.json(sample).serialized()) }
    let width = output.capabilities.isTerminal ? output.width : nil
    if shown == 1 { output.line(TapLine.title(width: width)) }
    return output.line(TapLine.text(sample, width: width, paint: Paint(output.capabilities)))
  }
}
