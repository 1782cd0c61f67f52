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
    let files =
      [("ca.pem", false), ("server.pem", false), ("server.key", true)]
      + clients.map { ($0.0, true) }
    let areKept = files.allSatisfy { name, isSecret in
      KeptFiles.isYoung("\(directory)/\(name)", isSecret: isSecret)
    }
    if options.authority == nil, areKept, KeptFiles.read(namesFile, isSecret: false) == names {
      return
    }
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
    if let pem = KeptFiles.read(path, isSecret: true) { return try ES256Key(pem: pem) }
    let key = try ES256Key.generate()
    try ThrowAwayAuthority.write(key.privateKeyPEM, to: path, mode: 0o600)
    return key
  }
}
