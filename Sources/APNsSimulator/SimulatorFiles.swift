import Glibc
import SimulatorSupport
import TLS

/// The files that clients of a simulator need, in one directory.
struct SimulatorFiles {
  /// The PEM file of the certificate authority that clients must trust.
  let authority: String
  let certificate: String
  let certificateKey: String
  let clientCertificate: String
  let misplacedCertificate: String
  /// Present when the simulator has its own provider key.
  let providerKeyFile: String?
  let providerKeys: [APNsSimulatorOptions.ProviderKey]

  static let madeKeyID = "SIMULATED1"
  static let madeTeamID = "SIMULATED2"
  /// The certificates are made for 30 days.
  private static let oldestSeconds = 20 * 24 * 3600

  /// Writes what is missing. Files of an earlier run that are young enough stay, so that a client
  /// that has read them survives a restart of the simulator.
  static func prepare(_ options: APNsSimulatorOptions) throws(SimulatorError) -> SimulatorFiles {
    let directory = options.directory
    try SimulatorDirectory.make(directory)
    do {
      try writeCertificates(options)
      guard options.providerKeys.isEmpty else {
        return SimulatorFiles(options, providerKeyFile: nil, providerKeys: options.providerKeys)
      }
      let path = "\(directory)/AuthKey_\(madeKeyID).p8"
      let key = try providerKey(path)
      let made = APNsSimulatorOptions.ProviderKey(
        keyID: madeKeyID, teamID: madeTeamID, publicKeyPEM: key.publicKeyPEM)
      return SimulatorFiles(options, providerKeyFile: path, providerKeys: [made])
    } catch {
      throw SimulatorError(
        .cannotStart, "certificate and key cannot be had in \(directory)", cause: "\(error)")
    }
  }

  private init(
    _ options: APNsSimulatorOptions, providerKeyFile: String?,
    providerKeys: [APNsSimulatorOptions.ProviderKey]
  ) {
    // The names that `ThrowAwayAuthority` gives.
    authority = options.directory + "/ca.pem"
    certificate = options.directory + "/server.pem"
    certificateKey = options.directory + "/server.key"
    clientCertificate = options.directory + "/client.pem"
    misplacedCertificate =
      options.directory + (options.isDevelopment ? "/client-production.pem" : "/client-sandbox.pem")
    self.providerKeyFile = providerKeyFile
    self.providerKeys = providerKeys
  }

  private static func writeCertificates(_ options: APNsSimulatorOptions) throws(TLSError) {
    let directory = options.directory
    // The names stand beside the certificates, so that other names make others.
    let topics = options.topics.isEmpty ? ["com.example.live"] : options.topics
    let names = (options.certificateHosts + [""] + topics).joined(separator: "\n")
    let namesFile = directory + "/server.hosts"
    // A simulator of each environment may have the directory: both sorts stand there.
    let clients = [
      ("client.pem", true, true), ("client-sandbox.pem", true, false),
      ("client-production.pem", false, true),
    ]
    let files = (["ca.pem", "server.pem", "server.key"] + clients.map { $0.0 }).map {
      "\(directory)/\($0)"
    }
    if options.authority == nil, files.allSatisfy(isYoung), read(namesFile) == names { return }
    let authority: ThrowAwayAuthority
    if let known = options.authority {
      authority = known
    } else {
      authority = try ThrowAwayAuthority(hosts: options.certificateHosts)
    }
    _ = try authority.write(to: directory)
    for (name, isForSandbox, isForProduction) in clients {
      let client = try authority.client(
        subjectID: topics[0], topics: topics, isForSandbox: isForSandbox,
        isForProduction: isForProduction)
      try ThrowAwayAuthority.write(client, to: "\(directory)/\(name)", mode: 0o600)
    }
    try ThrowAwayAuthority.write(names, to: namesFile, mode: 0o644)
  }

  /// Beside the certificate, for who may read the directory.
  private static func providerKey(_ path: String) throws(TLSError) -> ES256Key {
    if let pem = read(path) { return try ES256Key(pem: pem) }
    let key = try ES256Key.generate()
    try ThrowAwayAuthority.write(key.privateKeyPEM, to: path, mode: 0o600)
    return key
  }

  private static func isYoung(_ path: String) -> Bool {
    var information = stat()
    guard lstat(path, &information) == 0, information.st_size > 0, isOurs(information)
    else { return false }
    // A secret that others could read is none any more.
    let isSecret =
      path.hasSuffix(".key") || path.split(separator: "/").last?.hasPrefix("client") == true
    if isSecret, information.st_mode & 0o077 != 0 { return false }
    return time(nil) - information.st_mtim.tv_sec < oldestSeconds
  }

  /// A file that somebody else has put there may hold a key that somebody else knows.
  private static func isOurs(_ information: stat) -> Bool {
    information.st_mode & S_IFMT == S_IFREG && information.st_uid == geteuid()
  }

  private static func read(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var information = stat()
    guard fstat(descriptor, &information) == 0, isOurs(information) else { return nil }
    if path.hasSuffix(".p8"), information.st_mode & 0o077 != 0 { return nil }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes[0..<count], as: UTF8.self) : nil
  }
}
