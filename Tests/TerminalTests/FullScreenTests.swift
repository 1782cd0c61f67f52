import Glibc
import Testing

@testable import Terminal

/// The terminal is given back as it was.
@Suite(.serialized) struct FullScreenTests {
  private final class PseudoTerminal {
    let master: Int32
    let slave: Int32

    init() throws {
      var (master, slave): (Int32, Int32) = (-1, -1)
      var size = winsize(ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0)
      try #require(openpty(&master, &slave, nil, nil, &size) == 0)
      (self.master, self.slave) = (master, slave)
    }

    deinit {
      close(master)
      close(slave)
    }

    var flags: tcflag_t {
      var settings = termios()
      tcgetattr(slave, &settings)
      return settings.c_lflag
    }

    func output() -> String {
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = read(master, &bytes, bytes.count)
      return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
  }

  @Test func itIsTakenAndGivenBack() throws {
    let terminal = try PseudoTerminal()
    let before = terminal.flags
    let screen = try #require(FullScreen(input: terminal.slave, output: terminal.slave))
    #expect(screen.size == (100, 30))
    screen.enter()
    #expect(terminal.flags & tcflag_t(ICANON | ECHO | ISIG) == 0)
    #expect(terminal.output().contains("\u{1B}[?1049h"))
    screen.leave()
    #expect(terminal.flags == before)
    #expect(terminal.output().hasSuffix("\u{1B}[?25h\u{1B}[?1049l"))
    // Nothing is drawn on a terminal that is the shell's again.
    screen.draw(["late"])
    screen.enter()
    #expect(!terminal.output().contains("late"))
  }

  @Test func keysMayComeAtOnceWhileSignalsStaySignals() throws {
    let terminal = try PseudoTerminal()
    let before = terminal.flags
    let mode = try #require(RawMode(terminal.slave))
    #expect(mode.enter(keepsSignals: true))
    #expect(terminal.flags & tcflag_t(ICANON | ECHO) == 0)
    #expect(terminal.flags & tcflag_t(ISIG) != 0)
    mode.leave()
    #expect(terminal.flags == before)
  }

  @Test func whoEndsTheProcessGivesItBack() throws {
    let terminal = try PseudoTerminal()
    let before = terminal.flags
    let screen = try #require(FullScreen(input: terminal.slave, output: terminal.slave))
    screen.enter()
    FullScreen.leaveEntered()
    #expect(terminal.flags == before)
  }

  @Test func itGoesWithItsOwner() throws {
    let terminal = try PseudoTerminal()
    let before = terminal.flags
    do {
      let screen = try #require(FullScreen(input: terminal.slave, output: terminal.slave))
      screen.enter()
    }
    #expect(terminal.flags == before)
  }

  @Test func linesAreDrawnWithoutStrangeControls() throws {
    let terminal = try PseudoTerminal()
    let screen = try #require(FullScreen(input: terminal.slave, output: terminal.slave))
    screen.enter()
    _ = terminal.output()
    screen.draw(["a\u{1B}[31mb\u{1B}[0m", "c\u{1B}]0;title\u{07}"])
    let text = terminal.output()
    #expect(text.hasPrefix("\u{1B}[Ha\u{1B}[31mb\u{1B}[0m\u{1B}[K\r"))
    #expect(!text.contains("\u{07}"))
    #expect(text.hasSuffix("\u{1B}[K\u{1B}[J"))
  }

  @Test func aFileIsNoTerminal() throws {
    let file = open("/dev/null", O_RDWR)
    defer { close(file) }
    #expect(FullScreen(input: file, output: file) == nil)
  }
}
