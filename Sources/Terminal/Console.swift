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
  private static let ours = ["[K"] + ["0", "1", "2", "31", "32", "33", "36"].map { "[\($0)m" }

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
