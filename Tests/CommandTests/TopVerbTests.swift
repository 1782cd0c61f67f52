import Glibc
import Processes
import ServerProcesses
import Testing

/// `fanfare top` on a terminal.
@Suite struct TopVerbTests {
  /// Reads until `text` has come; false when nothing more comes for 20 s.
  private static func read(_ descriptor: Int32, until text: String) -> Bool {
    var all: [UInt8] = []
    while !String(decoding: all, as: UTF8.self).contains(text) {
      var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      var buffer = [UInt8](repeating: 0, count: 4_096)
      guard poll(&watched, 1, 20_000) > 0 else { return false }
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return false }
      all += buffer[..<count]
    }
    return true
  }

  /// A terminal may take nothing more: the line to it is dead, or somebody has stopped it. Signals
  /// end the process all the same.
  @Test func signalsEndItOnATerminalThatTakesNothing() throws {
    let redis = try RedisServerProcess()
    var (master, slave): (Int32, Int32) = (-1, -1)
    var size = winsize(ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0)
    try #require(openpty(&master, &slave, nil, nil, &size) == 0)
    defer { for descriptor in [master, slave] { close(descriptor) } }
    let name = String(cString: try #require(ttyname(slave)))
    let process = try ChildProcess(
      [
        "sh", "-c", #"exec "$0" top --set "redis.port=$1" <"$2" >"$2""#, Command.path,
        "\(redis.port)", name,
      ], environment: ["FANFARE_CONFIG": "", "TERM": "xterm"])
    try #require(Self.read(master, until: "\u{1B}[?1049h"))
    try #require(tcflow(slave, TCOOFF) == 0)
    let deadline = ContinuousClock.now + .seconds(20)
    while process.isRunning, ContinuousClock.now < deadline {
      process.signal(SIGTERM)
      _ = poll(nil, 0, 100)
    }
    let ending = try #require(process.ending, "it goes on")
    #expect([SIGTERM, SIGALRM].contains(ending.signal), "\(ending)")
  }
}
