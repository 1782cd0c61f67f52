import Glibc
import Synchronization

/// Where a command's words go: standard output, standard error, or a test's buffer; and what may
/// be drawn there.
package struct Console: Sendable {
  package let capabilities: Capabilities
  private let widthNow: @Sendable () -> Int?
  private let writeBytes: @Sendable (UnsafeRawBufferPointer) -> Bool
  private let lastFailure: WriteFailure

  /// The width where none can be asked for: in pipes, files and tests.
  static let defaultWidth = 80

  /// - Parameters:
  ///   - width: cells per line, nil where unknown; asked for each drawing: windows are resized.
  ///   - write: takes all bytes, or returns false when nobody reads any more.
  package init(
    capabilities: Capabilities, width: @escaping @Sendable () -> Int?,
    write: @escaping @Sendable (UnsafeRawBufferPointer) -> Bool
  ) {
    self.init(capabilities: capabilities, width: width, failure: WriteFailure(), write: write)
  }

  private init(
    capabilities: Capabilities, width: @escaping @Sendable () -> Int?, failure: WriteFailure,
    write: @escaping @Sendable (UnsafeRawBufferPointer) -> Bool
  ) {
    self.capabilities = capabilities
    lastFailure = failure
    widthNow = width
    writeBytes = write
  }

  package static func standardOutput() -> Console { Console(descriptor: STDOUT_FILENO) }
  package static func standardError() -> Console { Console(descriptor: STDERR_FILENO) }

  /// Writes to an open descriptor, which stays the caller's to close. Broken pipes are reported by
  /// `write` only in a process that ignores SIGPIPE (`ignoreBrokenPipes`).
  package init(descriptor: Int32) {
    let isTerminal = TerminalDevice.isTerminal(descriptor)
    let failure = WriteFailure()
    self.init(
      capabilities: Capabilities(isTerminal: isTerminal, environment: TerminalDevice.environment),
      width: {
        (isTerminal ? TerminalDevice.width(of: descriptor) : nil)
          ?? TerminalDevice.environment("COLUMNS").flatMap { Int($0) }
      }, failure: failure,
      write: {
        let number = TerminalDevice.write($0, to: descriptor)
        if number != 0 { failure.number.store(number, ordering: .relaxed) }
        return number == 0
      })
  }

  /// Why something that was said here is lost; nil when nothing is, and when the reader went away
  /// (`fanfare … | head -1`), who has what it wanted.
  package var failure: String? {
    let number = lastFailure.number.load(ordering: .relaxed)
    return number == 0 || number == EPIPE ? nil : String(cString: strerror(number))
  }

  /// To be called once at start: a reader that goes away (`fanfare … | head`) then ends a write
  /// with false instead of killing the process. Children inherit it, so a spawner resets it.
  package static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }

  /// Cells per line, at least 1.
  package var width: Int {
    guard let width = widthNow(), width > 0 else { return Self.defaultWidth }
    return width
  }

  /// False when nobody reads any more (or the disk is full): a command that only prints may end.
  @discardableResult
  package func write(_ text: String) -> Bool {
    var text = capabilities.isTerminal ? Self.harmless(text) : text
    return text.withUTF8 { $0.isEmpty ? true : writeBytes(UnsafeRawBufferPointer($0)) }
  }

  /// Empties the screen, where it can be drawn over.
  package func clear() { if capabilities.redraws { write("\u{1B}[H\u{1B}[J") } }

  @discardableResult
  package func line(_ text: String = "") -> Bool { write(text + "\n") }

  /// `text` in a style where colours are wanted, else as it is.
  package func styled(_ text: String, _ style: Style) -> String {
    capabilities.coloured ? style.apply(to: text) : text
  }
}

/// The errno of the last write that failed.
private final class WriteFailure: Sendable {
  let number = Atomic<Int32>(0)
}

extension Console {
  /// The sequences that we draw with.
  private static let ours =
    ["[K", "[H", "[J"] + ["0", "1", "2", "31", "32", "33", "36"].map { "[\($0)m" }

  /// Without any other control sequence, wherever it came from: whoever writes should have used
  /// `TextLayout.printable`, this is for what was forgotten.
  static func harmless(_ text: String) -> String {
    func isControl(_ scalar: Unicode.Scalar) -> Bool {
      (scalar.value < 0x20 && scalar != "\n" && scalar != "\t" && scalar != "\r")
        || (0x7F...0x9F).contains(scalar.value)
    }
    guard text.unicodeScalars.contains(where: isControl) else { return text }
    var result = String.UnicodeScalarView()
    var rest = text.unicodeScalars[...]
    while let scalar = rest.popFirst() {
      let isOurs =
        scalar == "\u{1B}" && ours.contains { rest.starts(with: $0.unicodeScalars) }
      result.append(isControl(scalar) && !isOurs ? "\u{FFFD}" : scalar)
    }
    return String(result)
  }
}

/// The few ways in which a word is marked.
package enum Style: String, Sendable {
  case bold = "1"
  case dim = "2"
  case red = "31"
  case green = "32"
  case yellow = "33"

  package func apply(to text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }
}

/// How a descriptor may be drawn on.
package struct Capabilities: Sendable, Equatable {
  package let isTerminal: Bool
  /// A line may be drawn over: a terminal that is not dumb.
  package let redraws: Bool
  package let coloured: Bool
  /// The locale says UTF-8: bars and ellipses may leave ASCII.
  package let unicode: Bool

  package init(isTerminal: Bool, redraws: Bool, coloured: Bool, unicode: Bool) {
    self.isTerminal = isTerminal
    self.redraws = redraws
    self.coloured = coloured
    self.unicode = unicode
  }

  /// Neither colours nor redrawing: a pipe or a file.
  package static let plain = Capabilities(
    isTerminal: false, redraws: false, coloured: false, unicode: true)

  /// Obeys `NO_COLOR` (no-color.org: present and not empty), `TERM=dumb` and the locale's encoding.
  /// Files and pipes get UTF-8: they have no locale.
  package init(isTerminal: Bool, environment: (String) -> String?) {
    let isDumb = (environment("TERM") ?? "dumb") == "dumb"
    let refusesColour = !(environment("NO_COLOR") ?? "").isEmpty
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(environment).first { !$0.isEmpty }
    let encoding = (locale ?? "").lowercased()
    self.init(
      isTerminal: isTerminal, redraws: isTerminal && !isDumb,
      coloured: isTerminal && !isDumb && !refusesColour,
      unicode: !isTerminal || encoding.contains("utf-8") || encoding.contains("utf8"))
  }
}

/// The system calls below `Console`.
package enum TerminalDevice {
  package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// Columns of the terminal behind a descriptor; nil when it is none or does not know (serial
  /// lines say 0).
  package static func width(of descriptor: Int32) -> Int? {
    size(of: descriptor).map { Int($0.ws_col) }
  }

  /// Nil as above.
  static func size(of descriptor: Int32) -> winsize? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return size
  }

  package static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// How long a descriptor that was made non-blocking may refuse bytes before they are given up.
  private static let timeoutMilliseconds: Int32 = 5_000

  /// Writes all bytes. 0, or the errno of what will not mend, EPIPE and ENOSPC among them; an
  /// interrupted call is repeated.
  package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    var rest = bytes[...]
    while !rest.isEmpty {
      let written = Glibc.write(
        descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if written >= 0 {
        rest = rest.dropFirst(written)
      } else if errno == EAGAIN {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&waiting, 1, timeoutMilliseconds) > 0 else { return EAGAIN }
      } else if errno != EINTR {
        return errno
      }
    }
    return 0
  }
}
