import Glibc

/// Keys of a terminal as they are pressed, without their being shown. Ctrl-C and Ctrl-Z stay
/// signals. `end`, or the end of the object, gives the terminal back as it was.
package final class KeyInput: Sendable {
  private let mode: RawMode

  /// Nil where the descriptor is no terminal, or this process is not in its foreground: it would be
  /// stopped.
  package init?(descriptor: Int32 = STDIN_FILENO) {
    guard let mode = RawMode(descriptor), mode.isInForeground, mode.enter(keepsSignals: true) else {
      return nil
    }
    self.mode = mode
  }

  deinit { end() }

  package func end() {
    if mode.isInForeground { mode.leave() }
  }

  /// The bytes of keys pressed since the last call; does not wait.
  package func pressed() -> [UInt8] {
    var watched = pollfd(fd: mode.descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&watched, 1, 0) > 0, mode.isInForeground else { return [] }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(mode.descriptor, &bytes, bytes.count)
    return Array(bytes[..<max(0, count)])
  }
}

/// Gives keys at once and without echo, and restores the terminal as it was before.
struct RawMode: Sendable {
  let descriptor: Int32
  private let before: termios

  /// Changes nothing yet. Nil where the descriptor is no terminal.
  init?(_ descriptor: Int32) {
    var settings = termios()
    guard tcgetattr(descriptor, &settings) == 0 else { return nil }
    self.descriptor = descriptor
    before = settings
  }

  /// Whether this process may change the terminal without being stopped.
  var isInForeground: Bool { tcgetpgrp(descriptor) == getpgrp() }

  /// - Parameter keepsSignals: Ctrl-C and Ctrl-Z stay signals; otherwise all control characters
  ///   come as keys.
  /// - Returns: false where the terminal refuses it.
  @discardableResult
  func enter(keepsSignals: Bool) -> Bool {
    var settings = before
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
    if !keepsSignals {
      settings.c_lflag &= ~tcflag_t(ISIG | IEXTEN)
      settings.c_iflag &= ~tcflag_t(IXON)
    }
    withUnsafeMutableBytes(of: &settings.c_cc) {
      $0[Int(VMIN)] = 0
      $0[Int(VTIME)] = 0
    }
    return tcsetattr(descriptor, TCSADRAIN, &settings) == 0
  }

  func leave() {
    var settings = before
    tcsetattr(descriptor, TCSADRAIN, &settings)
  }
}
