/// A key of the Apple developer account, as it signs provider tokens. Two objects are two keys,
/// whatever their ids say.
package final class ProviderKey: Sendable {
  package let keyID: String
  package let teamID: String
  let sign: @Sendable ([UInt8]) throws -> [UInt8]

  /// - Parameter sign: ES256 over the bytes, 64 bytes of r and s; always the same for the same
  ///   bytes.
  package init(
    keyID: String, teamID: String, sign: @escaping @Sendable ([UInt8]) throws -> [UInt8]
  ) {
    self.keyID = keyID
    self.teamID = teamID
    self.sign = sign
  }
}
