import Telemetry

/// The log lines of a world's processes, with the world's time and who wrote them.
///
/// Unchecked: confined to its world's thread.
package final class WorldLog: @unchecked Sendable {
  private final class Sink: LogSink, @unchecked Sendable {
    private let name: String
    private unowned let owner: WorldLog

    init(_ name: String, _ owner: WorldLog) {
      self.name = name
      self.owner = owner
    }

    func write(_ line: UnsafeRawBufferPointer) -> Bool {
      owner.lines.append("\(name) \(String(decoding: line.dropLast(), as: UTF8.self))")
      return true
    }
  }

  package private(set) var lines: [String] = []

  package init() {}

  func log(of name: String, _ world: World) -> Log {
    let (scheduler, wallClock) = (world.scheduler, world.wallClock)
    var options = LogOptions(
      level: .debug, format: .json, tokenLabelKey: TokenLabelKey(secret: []))
    options.repeatLimit = 0
    return Log(
      options, sink: Sink(name, self),
      clock: LogClock(wallMilliseconds: wallClock, monotonicNanoseconds: { scheduler.now }))
  }
}
