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

  /// Makes the directory and writes the certificates.
  static func prepare(_ options: FCMSimulatorOptions) throws(SimulatorError) -> Paths {
    let directory = options.directory
    try SimulatorDirectory.make(directory)
    do {
      let files = try ServerCertificates(
        in: directory, hosts: options.certificateHosts, signedBy: options.authority)
      return Paths(
        authority: files.authority, certificate: files.certificate, certificateKey: files.key,
        serviceAccount: directory + "/service-account.json",
        publicKey: directory + "/service-account.pub.pem")
    } catch {
      throw SimulatorError(
        .cannotStart, "the certificates cannot be had in \(directory)", cause: "\(error)")
    }
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
