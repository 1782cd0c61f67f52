import Glibc
import Testing

@testable import Terminal

@Suite struct ConsoleTests {
  private func pipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    try #require(Glibc.pipe(&ends) == 0)
    return (ends[0], ends[1])
  }

  @Test func aDescriptorGetsAllBytes() throws {
    let (read, write) = try pipe()
    defer { close(read) }
    let console = Console(descriptor: write)
    #expect(console.capabilities == .plain)
    #expect(console.write("日本\n") && console.line("x") && console.write(""))
    close(write)
    var bytes = [UInt8](repeating: 0, count: 100)
    let count = Glibc.read(read, &bytes, bytes.count)
    #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self) == "日本\nx\n")
  }

  @Test func aReaderThatWentAwayIsAnAnswerNotADeath() throws {
    Console.ignoreBrokenPipes()
    let (read, write) = try pipe()
    close(read)
    defer { close(write) }
    #expect(!Console(descriptor: write).write("x"))
    #expect(!Console(descriptor: -1).write("x"))
    let full = open("/dev/full", O_WRONLY)
    defer { close(full) }
    #expect(!Console(descriptor: full).write("x"))
  }

  @Test func aTerminalTellsItsWidth() throws {
    var master: Int32 = -1
    var terminal: Int32 = -1
    var size = winsize(ws_row: 24, ws_col: 43, ws_xpixel: 0, ws_ypixel: 0)
    try #require(openpty(&master, &terminal, nil, nil, &size) == 0)
    defer {
      close(master)
      close(terminal)
    }
    #expect(TerminalDevice.isTerminal(terminal))
    let console = Console(descriptor: terminal)
    #expect(console.width == 43)
    size.ws_col = 120
    _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    #expect(console.width == 120)
    #expect(TerminalDevice.width(of: -1) == nil)
    #expect(Buffer().console(width: 0).width == Console.defaultWidth)
  }

  @Test func whatIsLostIsKnownAndAReaderThatLeftIsNoLoss() throws {
    Console.ignoreBrokenPipes()
    let full = open("/dev/full", O_WRONLY)
    defer { close(full) }
    let console = Console(descriptor: full)
    #expect(console.failure == nil)
    console.line("x")
    #expect(console.failure == "No space left on device")
    let (read, write) = try pipe()
    close(read)
    defer { close(write) }
    let piped = Console(descriptor: write)
    #expect(!piped.line("x"))
    #expect(piped.failure == nil)
  }

  /// Servers' words, files' words: none of them moves the cursor or renames the window.
  @Test func aTerminalGetsNoSequenceButOurs() throws {
    let buffer = Buffer()
    let terminal = buffer.console(isTerminal: true, coloured: true)
    terminal.line("a\u{1B}]0;title\u{7}b\u{9B}2Jc\u{1B}[2Jd\u{1B}[31;5me\u{8}f\u{7F}")
    let gone = "\u{FFFD}"
    #expect(
      buffer.text
        == "a\(gone)]0;title\(gone)b\(gone)2Jc\(gone)[2Jd\(gone)[31;5me\(gone)f\(gone)\n")
    let next = Buffer()
    let ours = "\r" + terminal.styled("日本\t✓", .red) + "\u{1B}[K\n"
    next.console(isTerminal: true, coloured: true).write(ours)
    #expect(next.text == ours)
  }

  @Test func aComplaintIsOneLineOfText() async {
    let buffer = Buffer()
    let program = Program(name: "p", summary: "s", version: "1", verbs: [])
    program.complain("Redis: -ERR \u{1B}[2J\nfanfare: all is well", on: buffer.console(width: 80))
    #expect(buffer.text == "p: Redis: -ERR \u{FFFD}[2J fanfare: all is well\n")
  }
}
