import Glibc
import Threads

/// The one owner of a terminal that a program draws as a whole: alternate screen, no cursor, keys
/// without echo. `leave` restores the terminal as it was; so do the end of the object and the
/// second signal that ends the process (`StopSignals`). Called from any thread.
package final class FullScreen: Sendable {
  private struct State {
    var isEntered = false
  }

  /// The one whose terminal is to be restored when the process ends at once.
  private static let entered = ThreadLock<Weak?>(nil)

  private struct Weak: Sendable {
    weak let screen: FullScreen?
  }

  /// Alternate screen, without cursor and line wrap; and back.
  private static let enterSequence = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J\u{1B}[H"
  private static let leaveSequence = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

  /// Where keys come from; the owner of it is whoever opened it.
  package let input: Int32
  private let output: Int32
  private let mode: RawMode
  private let state = ThreadLock(State())

  /// Changes nothing yet. Nil where one of the two is no terminal.
  package init?(input: Int32 = STDIN_FILENO, output: Int32 = STDOUT_FILENO) {
    guard TerminalDevice.isTerminal(output), let mode = RawMode(input) else { return nil }
    self.input = input
    self.output = output
    self.mode = mode
  }

  deinit { leave() }

  package func enter() {
    state.withLock { state in
      // Ctrl-C and Ctrl-Z come as keys: they restore the terminal first.
      mode.enter(keepsSignals: false)
      send(Self.enterSequence)
      state.isEntered = true
    }
    Self.entered.withLock { $0 = Weak(screen: self) }
  }

  /// Restores the terminal; again it does nothing.
  package func leave() {
    state.withLock { state in
      guard state.isEntered else { return }
      state.isEntered = false
      send(Self.leaveSequence)
      mode.leave()
    }
  }

  /// For whoever ends the process at once.
  static func leaveEntered() { entered.withLock { $0 }?.screen?.leave() }

  /// Restores the terminal, stops the process as Ctrl-Z does, and takes the terminal again when it
  /// goes on.
  package func suspend() {
    leave()
    let handler = signal(SIGTSTP, SIG_DFL)
    // To this thread: the process stops before the call returns.
    pthread_kill(pthread_self(), SIGTSTP)
    signal(SIGTSTP, handler)
    enter()
  }

  /// Cells per line and lines; 80 and 24 where the terminal does not say.
  package var size: (columns: Int, rows: Int) {
    guard let size = TerminalDevice.size(of: output), size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Draws all lines, from the first, over what was there.
  /// - Parameter lines: no wider and no more than `size` says; control characters are taken out.
  /// - Returns: false when the terminal is gone.
  @discardableResult
  package func draw(_ lines: [String]) -> Bool {
    let body = lines.map { Console.harmless($0) + "\u{1B}[K" }.joined(separator: "\r\n")
    return state.withLock { state in
      guard state.isEntered else { return true }
      return send("\u{1B}[H" + body + "\u{1B}[J")
    }
  }

  @discardableResult
  private func send(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 {
      TerminalDevice.write(UnsafeRawBufferPointer($0), to: output) == 0
    }
  }
}
