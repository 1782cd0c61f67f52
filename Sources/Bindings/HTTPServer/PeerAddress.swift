import Glibc

/// Who is on the other side: an IPv4 address, or the half of an IPv6 address that names a network.
/// A client has as many of the other half as it likes.
package struct PeerAddress: Hashable, Sendable {
  private let network: UInt64

  init(_ storage: sockaddr_storage) {
    network = withUnsafeBytes(of: storage) {
      Int32(storage.ss_family) == AF_INET6
        ? $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        : UInt64($0.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
    }
  }

  package init(number: UInt64) { network = number }
}
