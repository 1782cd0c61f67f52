import Glibc
import Terminal

/// The process that listens on a TCP port of this machine, as far as /proc shows it to this user.
package enum PortOwner {
  /// Of /proc/net/tcp: some hundred bytes for each connection.
  private static let maximumBytes = 4 << 20
  /// The state of a socket that listens.
  private static let listening = "0A"

  /// `python3 server.py (process 812)`; nil where nobody listens, or a process of
  /// another user.
  package static func name(of port: Int) -> String? {
    let sockets = Set(
      ["/proc/net/tcp", "/proc/net/tcp6"].flatMap { file in
        inodes(of: port, in: ScratchDirectory.read(file, maximumBytes: maximumBytes) ?? "")
      }.map { "socket:[\($0)]" })
    guard !sockets.isEmpty else { return nil }
    for process in ScratchDirectory.names(in: "/proc") where Int(process) != nil {
      let descriptors = "/proc/\(process)/fd"
      let holds = ScratchDirectory.names(in: descriptors).contains {
        sockets.contains(target(ofLink: "\(descriptors)/\($0)"))
      }
      guard holds else { continue }
      let words = (ScratchDirectory.read("/proc/\(process)/cmdline", maximumBytes: 256) ?? "")
        .split(separator: "\0").prefix(2)
      let program = words.first?.split(separator: "/").last.map(String.init) ?? "a process"
      let name = ([program] + words.dropFirst().map(String.init)).joined(separator: " ")
      return "\(TextLayout.printable(name)) (process \(process))"
    }
    return nil
  }

  /// The inodes of sockets that listen on a port.
  /// - Parameter table: as proc_pid_net(5) describes `tcp`: fields between blanks, the second the
  ///   local address with the port in hexadecimal, the fourth the state, the tenth the inode.
  static func inodes(of port: Int, in table: String) -> [String] {
    table.split(separator: "\n").dropFirst().compactMap { line in
      let fields = line.split(separator: " ")
      guard fields.count >= 10, fields[3] == listening,
        let text = fields[1].split(separator: ":").last, Int(text, radix: 16) == port
      else { return nil }
      return String(fields[9])
    }
  }

  /// Empty where there is no such link.
  private static func target(ofLink path: String) -> String {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = readlink(path, &bytes, bytes.count)
    return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
  }
}
