import Glibc

/// Keys of a terminal as they are pressed, without their being shown. Ctrl-C and Ctrl-Z stay
/// signals. `end`, or the end of the object, gives the terminal back as it was.
package final class KeyInput: Sendable {
  private let descriptor: Int32
  private let before: termios

  /// Nil where the descriptor is no terminal, or this process is not in its foreground: it would be
  /// stopped.
  package init?(descriptor: Int32 = STDIN_FILENO) {
    var settings = termios()
    guard tcgetattr(descriptor, &settings) == 0, tcgetpgrp(descriptor) == getpgrp() else {
      return nil
    }
    self.descriptor = descriptor
    before = settings
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
    withUnsafeMutableBytes(of: &settings.c_cc) {
      $0[Int(VMIN)] = 0
      $0[Int(VTIME)] = 0
    }
    guard tcsetattr(descriptor, TCSADRAIN, &settings) == 0 else { return nil }
  }

  deinit { end() }

  package func end() {
    guard tcgetpgrp(descriptor) == getpgrp() else { return }
    var settings = before
    tcsetattr(descriptor, TCSADRAIN, &settings)
  }

  /// The bytes of keys pressed since the last call; does not wait.
  package func pressed() -> [UInt8] {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&watched, 1, 0) > 0, tcgetpgrp(descriptor) == getpgrp() else { return [] }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(descriptor, &bytes, bytes.count)
    return Array(bytes[..<max(0, count)])
  }
}
