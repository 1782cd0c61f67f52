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

extension PeerAddress: CustomStringConvertible {
  /// `192.0.2.1`, or the network of an IPv6 address: `2001:db8:0:7::/64`.
  package var description: String {
    withUnsafeBytes(of: network) { bytes in
      guard network > UInt64(UInt32.max) else {
        return bytes.prefix(4).map { String($0) }.joined(separator: ".")
      }
      let groups = stride(from: 0, to: 8, by: 2).map {
        String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16)
      }
      return groups.joined(separator: ":") + "::/64"
    }
  }
}
