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
  }

  /// Makes the directory and writes the certificates.
  static func prepare(_ options: FCMSimulatorOptions) throws(SimulatorError) -> Paths {
    let directory = options.directory
    try SimulatorDirectory.make(directory)
    do {
      let authority: ThrowAwayAuthority
      if let known = options.authority {
        authority = known
      } else {
        authority = try ThrowAwayAuthority(hosts: options.certificateHosts)
      }
      let files = try authority.write(to: directory)
      return Paths(
        authority: files.authority, certificate: files.certificate, certificateKey: files.key,
        serviceAccount: directory + "/service-account.json")
    } catch {
      throw SimulatorError(
        .cannotStart, "the certificates cannot be had in \(directory)", cause: "\(error)")
    }
  }

  /// Writes the file that Google hands out for a service account, with this server's endpoint.
  static func write(
    _ account: ServiceAccount, _ key: RS256KeyPair, tokenURI: String, to path: String
  ) throws(SimulatorError) {
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
