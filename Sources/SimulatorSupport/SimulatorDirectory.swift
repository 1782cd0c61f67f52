import Glibc
import TLS

/// The directory of the files that a simulator's clients need.
package enum SimulatorDirectory {
  /// Makes it where it is not there, for nobody else.
  package static func make(_ directory: String) throws(SimulatorError) {
    guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
      throw SimulatorError(
        .cannotStart, "\(directory) cannot be made", cause: String(cString: strerror(errno)))
    }
    var status = stat()
    guard lstat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw SimulatorError(
        .cannotStart, "\(directory) is not a directory: no symbolic link is followed")
    }
  }
}

/// Files of an earlier run that may stay, so that a client that has read them survives a restart of
/// the simulator. A file that somebody else has put there may hold a key that somebody else knows,
/// and a secret that others could read is none any more: neither is kept.
package enum KeptFiles {
  /// The certificates are made for 30 days.
  private static let oldestSeconds = 20 * 24 * 3600

  /// Whether a certificate, or a key of one, lasts for some more days.
  package static func isYoung(_ path: String, isSecret: Bool) -> Bool {
    var information = stat()
    guard lstat(path, &information) == 0, information.st_size > 0, isOurs(information, isSecret)
    else { return false }
    return time(nil) - information.st_mtim.tv_sec < oldestSeconds
  }

  /// At most 64 KiB of it; nil where it must not be kept.
  package static func read(_ path: String, isSecret: Bool) -> String? {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var information = stat()
    guard fstat(descriptor, &information) == 0, isOurs(information, isSecret) else { return nil }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes[0..<count], as: UTF8.self) : nil
  }

  private static func isOurs(_ information: stat, _ isSecret: Bool) -> Bool {
    information.st_mode & S_IFMT == S_IFREG && information.st_uid == geteuid()
      && (!isSecret || information.st_mode & 0o077 == 0)
  }
}

/// The certificate of a simulator and its throw-away authority, in files of its directory.
package struct ServerCertificates: Sendable {
  /// PEM.
  package let authority: String
  package let certificate: String
  package let key: String

  /// Writes them. Those of an earlier run that are for the same names stay while they are young, so
  /// that a client that has read them survives a restart.
  /// - Parameters:
  ///   - hosts: names and addresses that the certificate is for.
  ///   - known: signs it in every case; nil: an authority is made when one is needed.
  package init(
    in directory: String, hosts: [String], signedBy known: ThrowAwayAuthority? = nil
  ) throws(TLSError) {
    // The names that `ThrowAwayAuthority` gives.
    authority = directory + "/ca.pem"
    certificate = directory + "/server.pem"
    key = directory + "/server.key"
    // The names stand beside the certificates, so that other names make others.
    let names = hosts.joined(separator: "\n")
    let namesFile = directory + "/server.hosts"
    let areYoung = [(authority, false), (certificate, false), (key, true)].allSatisfy {
      KeptFiles.isYoung($0, isSecret: $1)
    }
    if known == nil, areYoung, KeptFiles.read(namesFile, isSecret: false) == names { return }
    let signer: ThrowAwayAuthority
    if let known { signer = known } else { signer = try ThrowAwayAuthority(hosts: hosts) }
    _ = try signer.write(to: directory)
    try ThrowAwayAuthority.write(names, to: namesFile, mode: 0o644)
  }
}
