import EventLoop
import FanOuts
import Keyspace
import Record
import Redis
import Terminal

/// The times that a live view goes by.
package struct WatchClock: Sendable {
  /// Since 1970.
  let milliseconds: @Sendable () -> Int64
  /// Monotonic.
  let nanoseconds: @Sendable () -> UInt64

  package init(
    milliseconds: @escaping @Sendable () -> Int64, nanoseconds: @escaping @Sendable () -> UInt64
  ) {
    self.milliseconds = milliseconds
    self.nanoseconds = nanoseconds
  }
}

/// A live view on a terminal: joins keys, Redis and the screen. Keys are obeyed while Redis is
/// asked. Confined to its loop.
package final class TopSession {
  private let screen: FullScreen
  private let loop: EventLoop
  private let reader: TopReader
  private let control: FanOutControl
  private let paint: Paint
  private let clock: WatchClock
  private let operatorName: String
  private var machine: TopMachine
  private var isReading = false
  private var hasEnded = false

  /// - Parameters:
  ///   - limit: how many fan-outs are looked at.
  ///   - operatorName: who gives orders.
  package init(
    on screen: FullScreen, _ loop: EventLoop, _ redis: RedisClient, _ keyspace: Keyspace,
    limit: Int, operates: Bool, operatorName: String, paint: Paint, clock: WatchClock
  ) {
    self.screen = screen
    self.loop = loop
    reader = TopReader(redis: redis, keyspace: keyspace, limit: limit)
    control = FanOutControl(redis: redis, keyspace: keyspace)
    self.paint = paint
    self.clock = clock
    self.operatorName = operatorName
    machine = TopMachine(operates: operates, at: clock.nanoseconds())
  }

  /// Returns when somebody quits, or the terminal is gone; it is restored then.
  package func run(
    _ events: AsyncStream<ScreenEvent>, isolation actor: isolated any Actor = #isolation
  ) async {
    screen.enter()
    defer {
      hasEnded = true
      screen.leave()
    }
    for await event in events {
      switch event {
      case .stop: return
      case .tick: read(on: actor)
      case .resized: break
      case .resumed: screen.enter()
      case .suspend: screen.suspend()
      case .key(let key):
        switch machine.take(key, at: clock.nanoseconds()) {
        case .none: break
        case .quit: return
        case .suspend: screen.suspend()
        case .give(let order, let event, let reason):
          loop.task(on: actor) { [self] in await give(order, event, reason) }
        }
      }
      guard draw() else { return }
    }
  }

  @discardableResult
  private func draw() -> Bool {
    let size = screen.size
    let frame = TopFrame(
      machine, columns: size.columns, rows: size.rows, now: clock.milliseconds(),
      monotonic: clock.nanoseconds(), paint: paint)
    return screen.draw(frame.lines())
  }

  /// One read at a time: while Redis is slow, none is added.
  private func read(on actor: isolated any Actor) {
    guard !isReading else { return }
    isReading = true
    loop.task(on: actor) { [self] in
      await read()
      isReading = false
      if !hasEnded { draw() }
    }
  }

  private func read() async {
    do throws(RecordError) {
      machine.show(
        try await reader.read(now: clock.milliseconds(), monotonic: clock.nanoseconds()))
    } catch {
      machine.fail(error.description)
    }
  }

  private func give(_ order: FanOutControl.Order, _ event: String, _ reason: String) async {
    do throws(CommandFailure) {
      let isNew = try await control.give(
        order, to: event, reason: reason, by: operatorName, now: clock.milliseconds())
      machine.report(
        isNew ? "\(order.word): \(event). Every worker obeys within 2 s" : "it was so before")
    } catch {
      machine.report(error.message)
    }
    if !hasEnded { draw() }
  }
}

/// The same for what is no terminal: a block of lines, or a line of JSON, at each interval.
package struct TopBlocks {
  package var interval: Duration = .seconds(1)
  /// Ends after the first.
  package var isOnce = false
  package var isJSON = false

  package init() {}

  /// A rate needs two looks.
  private static let firstLook: Duration = .seconds(1)

  /// Returns when nobody reads any more, or after the only block.
  package func run(
    _ redis: RedisClient, _ keyspace: Keyspace, limit: Int, on output: Console,
    errors: Console, clock: WatchClock, isolation actor: isolated LoopActor
  ) async throws(CommandFailure) {
    let reader = TopReader(redis: redis, keyspace: keyspace, limit: limit)
    var looks = 0
    while true {
      do throws(RecordError) {
        let snapshot = try await reader.read(
          now: clock.milliseconds(), monotonic: clock.nanoseconds())
        looks += 1
        let needsRate = looks == 1 && snapshot.fanOuts.contains { !$0.isFinished }
        if needsRate {
          await actor.wait(Self.firstLook)
          continue
        }
        guard write(snapshot, to: output, now: clock.milliseconds()), !isOnce else { return }
      } catch {
        guard !isOnce, error.isTransient else {
          throw CommandFailure(error.isTransient ? .unavailable : .failed, error.description)
        }
        errors.line(TextLayout.printable(error.description))
      }
      await actor.wait(interval)
    }
  }

  private func write(_ snapshot: TopSnapshot, to output: Console, now: Int64) -> Bool {
    guard !isJSON else { return output.line(snapshot.json(now: now).serialized()) }
    let sections = TopSections(
      snapshot, width: output.capabilities.isTerminal ? output.width : TopSections.wide, now: now,
      paint: Paint(coloured: false, unicode: output.capabilities.unicode))
    return output.write(
      (sections.block() + [isOnce ? nil : ""].compactMap { $0 })
        .map { $0 + "\n" }.joined())
  }
}
