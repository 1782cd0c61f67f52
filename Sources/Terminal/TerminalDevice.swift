import Glibc

/// The system calls below `Console`.
package enum TerminalDevice {
  package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// Columns of the terminal behind a descriptor; nil when it is none or does not know (serial
  /// lines say 0).
  package static func width(of descriptor: Int32) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
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
