import APNs
import APNsSimulator
import TLS

/// A key of provider tokens that a simulator knows, as Apple hands it out.
package struct BedKey: Sendable {
  package let id: String
  package let teamID: String
  package let pem: String
  let known: APNsSimulatorOptions.ProviderKey

  /// - Parameter topics: of its team's apps; empty: any.
  package init(id: String, teamID: String = "TEAMTEAM01", topics: [String] = []) throws {
    let key = try ES256Key.generate()
    self.id = id
    self.teamID = teamID
    pem = key.privateKeyPEM
    known = APNsSimulatorOptions.ProviderKey(
      keyID: id, teamID: teamID, publicKeyPEM: key.publicKeyPEM, topics: topics)
  }

  package var fileName: String { "AuthKey_\(id).p8" }
}
