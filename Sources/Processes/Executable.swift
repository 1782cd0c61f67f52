import CLinux
import Glibc
import Terminal
import Text

/// Programs by their path.
package enum Executable {
  /// This program, as it runs now: a rebuild meanwhile changes nothing.
  package static let own = "/proc/self/exe"

  /// The arguments of a command as C wants them, to be freed by the caller. Our own program gets
  /// its name back: `ps` should not show a path in /proc.
  package static func arguments(_ command: [String]) -> [UnsafeMutablePointer<CChar>?] {
    command.enumerated().map { strdup($0 == 0 && $1 == own ? "fanfare" : $1) } + [nil]
  }

  /// The command line that runs `command` so that it dies with this process, whatever ends it: by
  /// way of our own hidden verb, which asks the kernel for that and becomes the command.
  package static func guarded(_ command: [String]) -> [String] {
    [own, guardedVerb, "--parent", "\(getpid())", "--"] + command
  }

  package static let guardedVerb = "guarded"

  /// How this program was called, for whoever calls it again in the same directory.
  package static var nameAsCalled: String { shellQuoted(CommandLine.arguments.first ?? "fanfare") }

  /// A word that a shell takes as it is.
  package static func shellQuoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { $0.isASCIIWord || "+-./:@_".utf8.contains($0) }
    if isPlain && !word.isEmpty { return word }
    return "'" + word.replacing("'", with: "'\\''") + "'"
  }

  /// The directory that this program's file is in; nil where /proc is not mounted.
  package static var ownDirectory: String? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(own, &bytes, bytes.count)
    guard count > 0 else { return nil }
    let path = String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return path.lastIndex(of: "/").map { String(path[..<$0]) }
  }

  /// Where Debian puts servers; not on everybody's PATH.
  private static let systemDirectories = ["/usr/local/sbin", "/usr/sbin", "/sbin"]

  /// A program on the PATH or among the system's servers.
  /// - Parameter package: the Debian package that it is in, for the message.
  package static func find(_ name: String, package: String) throws(LocalRunError) -> String {
    let path = TerminalDevice.environment("PATH") ?? "/usr/local/bin:/usr/bin:/bin"
    let directories = path.split(separator: ":").map(String.init) + systemDirectories
    for directory in directories {
      let file = "\(directory)/\(name)"
      if access(file, X_OK) == 0 { return file }
    }
    throw LocalRunError(
      .unavailable,
      "\(name) is not installed: it is in the Debian package \(package) "
        + "(sudo apt-get install \(package))")
  }

  /// A path that stays good in a process with another working directory.
  package static func absolute(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else { return path }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}

extension Executable {
  /// Makes this process another program that dies with `parent`, whatever ends that one. Returns
  /// only when it could not: `.failed` without the parent, `.unavailable` without the program.
  package static func become(_ command: [String], dyingWith parent: Int32) -> LocalRunError {
    // The kernel watches the thread that started us; its owner starts children from one that lives
    // on.
    guard linux_signal_on_parent_death(SIGKILL) == 0, getppid() == parent else {
      return LocalRunError(.failed, "the parent is gone")
    }
    var arguments = arguments(command)
    // Console.ignoreBrokenPipes is inherited through exec.
    signal(SIGPIPE, SIG_DFL)
    execv(command[0], &arguments)
    let reason = String(cString: strerror(errno))
    for argument in arguments { free(argument) }
    return LocalRunError(.unavailable, "\(command[0]): \(reason)")
  }
}
