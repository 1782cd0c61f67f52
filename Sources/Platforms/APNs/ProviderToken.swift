import Deliver

/// A signed token, as the `authorization` header carries it. Its bytes stay where they are, since
/// nghttp2 borrows them.
package final class ProviderToken: Credential {
  /// Ms since 1970.
  package let issuedAt: Int64
  package let authorization: StableBytes
  let key: ProviderKey

  init(authorization: String, issuedAt: Int64, key: ProviderKey) {
    self.authorization = StableBytes(authorization)
    self.issuedAt = issuedAt
    self.key = key
  }
}
