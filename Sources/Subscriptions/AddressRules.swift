/// Which addresses a push service may have. An endpoint comes from a client, and so does the name
/// in it: without these rules a client could have a worker send requests into the worker's own
/// network. Every address that a name leads to is checked, and the connection goes to one of those
/// that were checked.
package enum AddressRules {
  /// A network: its first bytes, and how many bits of them count.
  private struct Network {
    let bytes: [UInt8]
    let bits: Int

    init(_ bytes: [UInt8], _ bits: Int) {
      self.bytes = bytes
      self.bits = bits
    }

    func contains(_ address: ArraySlice<UInt8>) -> Bool {
      for (index, (byte, own)) in zip(address, bytes).enumerated() {
        let counting = min(max(bits - index * 8, 0), 8)
        guard (byte ^ own) >> UInt8(8 - counting) == 0 else { return false }
      }
      return true
    }
  }

  /// IPv4 networks that are not the Internet (IANA's registry of special-purpose addresses), and
  /// multicast.
  private static let refusedIPv4 = [
    Network([0], 8),  // this network
    Network([10], 8),  // private
    Network([100, 64], 10),  // shared by carriers; metadata of a cloud
    Network([127], 8),  // loopback
    Network([169, 254], 16),  // link-local; metadata of most clouds
    Network([172, 16], 12),  // private
    Network([192, 0, 0], 24),  // protocol assignments
    Network([192, 0, 2], 24),  // documentation
    Network([192, 168], 16),  // private
    Network([198, 18], 15),  // benchmarks
    Network([198, 51, 100], 24),  // documentation
    Network([203, 0, 113], 24),  // documentation
    Network([224], 4),  // multicast
    Network([240], 4),  // reserved; broadcast
  ]

  /// All that IANA has given out for the Internet. Loopback, link-local, private and multicast
  /// addresses are outside.
  private static let globalIPv6 = Network([0x20], 3)

  /// Networks of `globalIPv6` that are not the Internet, or lead to an IPv4 address in a way that
  /// nobody offers any more.
  private static let refusedIPv6 = [
    Network([0x20, 0x01, 0x00], 23),  // protocol assignments; Teredo
    Network([0x20, 0x01, 0x0D, 0xB8], 32),  // documentation
    Network([0x20, 0x02], 16),  // 6to4
    Network([0x3F, 0xFF, 0x00], 20),  // documentation
  ]

  /// The last four bytes are an IPv4 address, to which a packet goes in the end.
  private static let ipv4InIPv6 = [
    Network([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96),  // mapped (RFC 4291)
    Network([0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0], 96),  // NAT64 (RFC 6052)
  ]

  /// - Parameter address: 4 or 16 bytes in network order; any other number is refused.
  package static func refuses(_ address: some Collection<UInt8>) -> Bool {
    let address = Array(address)
    switch address.count {
    case 4: return refusedIPv4.contains { $0.contains(address[...]) }
    case 16:
      if ipv4InIPv6.contains(where: { $0.contains(address[...]) }) {
        return refuses(address[12...])
      }
      return !globalIPv6.contains(address[...])
        || refusedIPv6.contains { $0.contains(address[...]) }
    default: return true
    }
  }
}
