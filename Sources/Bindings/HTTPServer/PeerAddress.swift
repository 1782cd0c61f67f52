import Glibc

/// The other side's address: an IPv4 address, or the half of an IPv6 address that names a network.
/// A client has as many of the other half as it likes.
package struct PeerAddress: Hashable, Sendable {
  private let isIPv6: Bool
  /// As it lies in memory: the eight bytes of an IPv6 network, or an IPv4 address and four zeros.
  private let network: UInt64

  init(_ storage: sockaddr_storage) {
    isIPv6 = Int32(storage.ss_family) == AF_INET6
    network = withUnsafeBytes(of: storage) {
      Int32(storage.ss_family) == AF_INET6
        ? $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        : UInt64($0.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
    }
  }

  /// An IPv4 address that differs from those of other numbers.
  package init(number: UInt32) {
    isIPv6 = false
    network = UInt64(number)
  }
}

extension PeerAddress: CustomStringConvertible {
  /// `192.0.2.1`, or the network of an IPv6 address: `2001:db8:0:7::/64`.
  package var description: String {
    withUnsafeBytes(of: network) { bytes in
      guard isIPv6 else { return bytes.prefix(4).map { String($0) }.joined(separator: ".") }
      let groups = stride(from: 0, to: 8, by: 2).map {
        String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16)
      }
      return groups.joined(separator: ":") + "::/64"
    }
  }
}
