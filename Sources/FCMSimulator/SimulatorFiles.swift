import JSON
import SimulatorSupport
import TLS

/// The files that clients of the simulator need, in one directory.
enum SimulatorFiles {
  struct Paths {
    let authority: String
    let certificate: String
    let certificateKey: String
    let serviceAccount: String
    /// The public half of the account's key, for the simulator alone.
    let publicKey: String
  }

  /// Makes the directory and writes the certificates. Those of an earlier run that are for the same
  /// names stay while they are young, so that a client that has read them survives a restart.
  static func prepare(_ options: FCMSimulatorOptions) throws(SimulatorError) -> Paths {
    let directory = options.directory
    try SimulatorDirectory.make(directory)
    do {
      try writeCertificates(options)
      return Paths(
        // The names that `ThrowAwayAuthority` gives.
        authority: directory + "/ca.pem", certificate: directory + "/server.pem",
        certificateKey: directory + "/server.key",
        serviceAccount: directory + "/service-account.json",
        publicKey: directory + "/service-account.pub.pem")
    } catch {
      throw SimulatorError(
        .cannotStart, "the certificates cannot be had in \(directory)", cause: "\(error)")
    }
  }

  private static func writeCertificates(_ options: FCMSimulatorOptions) throws(TLSError) {
    let directory = options.directory
    let names = options.certificateHosts.joined(separator: "\n")
    let namesFile = directory + "/server.hosts"
    let areKept = [("ca.pem", false), ("server.pem", false), ("server.key", true)].allSatisfy {
      KeptFiles.isYoung("\(directory)/\($0)", isSecret: $1)
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
    try ThrowAwayAuthority.write(names, to: namesFile, mode: 0o644)
  }

  /// The key of the account's file of an earlier run, or a new one.
  static func key(_ paths: Paths) throws(TLSError) -> RS256KeyPair {
    if let text = KeptFiles.read(paths.serviceAccount, isSecret: true),
      let publicKeyPEM = KeptFiles.read(paths.publicKey, isSecret: true),
      let members = (try? JSONValue.parse(Array(text.utf8)))?.object,
      let privateKeyPEM = members["private_key"]?.string,
      let key = try? RS256Key(pem: privateKeyPEM),
      let publicKey = try? RS256PublicKey(pem: publicKeyPEM),
      let signature = try? key.sign([0]), publicKey.verify([0], signature: signature)
    {
      return RS256KeyPair(privateKeyPEM: privateKeyPEM, publicKeyPEM: publicKeyPEM)
    }
    return try RS256KeyPair.generate()
  }

  /// Writes the file that Google hands out for a service account, with this server's endpoint.
  static func write(
    _ account: ServiceAccount, _ key: RS256KeyPair, tokenURI: String, to paths: Paths
  ) throws(SimulatorError) {
    let path = paths.serviceAccount
    let value: JSONValue = [
      "type": "service_account",
      "project_id": .string(account.projectID),
      "private_key_id": .string(account.keyID),
      "private_key": .string(key.privateKeyPEM),
      "client_email": .string(account.email),
      "client_id": "100000000000000000001",
      "token_uri": .string(tokenURI),
    ]
    do {
      try ThrowAwayAuthority.write(PrettyJSON.text(value), to: path, mode: 0o600)
      try ThrowAwayAuthority.write(key.publicKeyPEM, to: paths.publicKey, mode: 0o600)
    } catch {
      throw SimulatorError(.cannotStart, "\(path) cannot be written", cause: "\(error)")
    }
  }
}

/// The service account whose assertions the simulator takes.
struct ServiceAccount {
  let projectID: String
  let keyID = "5109c0de5109c0de5109c0de5109c0de5109c0de"
  var email: String { "simulator@\(projectID).iam.gserviceaccount.com" }
}
