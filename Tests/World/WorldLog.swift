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
      owner.add("\(name) \(String(decoding: line.dropLast(), as: UTF8.self))")
      return true
    }
  }

  package private(set) var lines: [String] = []
  /// Of all lines so far; FNV-1a.
  package private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325
  /// Whether lines are kept, or only counted into the digest.
  package var isKept = true
  /// Gets each line when it is written.
  package var print: ((String) -> Void)?
  private let level: LogLevel

  package init(level: LogLevel) { self.level = level }

  /// Counts what is too much for lines.
  package func note(_ number: UInt64) { digest = (digest ^ number) &* 0x100_0000_01B3 }

  package func add(_ line: String) {
    for byte in line.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
    if isKept { lines.append(line) }
    print?(line)
  }

  func log(of name: String, _ world: World) -> Log {
    let (scheduler, wallClock) = (world.scheduler, world.wallClock)
    var options = LogOptions(
      level: level, format: .text(coloured: false), tokenLabelKey: TokenLabelKey(secret: [7]))
    options.repeatLimit = 0
    return Log(
      options, sink: Sink(name, self),
      clock: LogClock(wallMilliseconds: wallClock, monotonicNanoseconds: { scheduler.now }))
  }
}
