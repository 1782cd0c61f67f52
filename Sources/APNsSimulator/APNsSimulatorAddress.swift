/// The ports, files and secrets of a running simulator that a provider needs.
package struct APNsSimulatorAddress: Sendable {
  package let host: String
  package let port: Int
  /// Of the legacy gateway and the feedback service, where they were asked for.
  package let binaryPort: Int?
  package let feedbackPort: Int?
  /// The PEM file with the throw-away authority: what a client must trust.
  package let authorityFile: String
  /// The `.p8` file, when the simulator made the key.
  package let providerKeyFile: String?
  /// PEM: a certificate of that authority with its key, for clients without a provider token.
  package let clientCertificateFile: String
  /// The same, but for the other environment: BadCertificateEnvironment.
  package let misplacedCertificateFile: String
  package let keyID: String
  package let teamID: String
  /// What requests under /simulator/ must send as `simulator-token`.
  package let controlToken: String
}
