import Glibc
import Testing

@testable import HTTPServer

@Suite struct PeerAddressTests {
  private static func peer(_ family: Int32, _ address: [UInt8]) -> PeerAddress {
    var storage = sockaddr_storage()
    withUnsafeMutableBytes(of: &storage) { bytes in
      let offset = family == AF_INET6 ? 8 : 4
      for (index, byte) in address.enumerated() { bytes[offset + index] = byte }
    }
    storage.ss_family = sa_family_t(family)
    return PeerAddress(storage)
  }

  private static func network(_ bytes: UInt8...) -> PeerAddress {
    peer(AF_INET6, bytes + [UInt8](repeating: 0, count: 15 - bytes.count) + [1])
  }

  @Test func eachFamilyIsWrittenAsItsOwn() {
    #expect(Self.peer(AF_INET, [192, 0, 2, 1]).description == "192.0.2.1")
    #expect(Self.network().description == "0:0:0:0::/64")
    #expect(Self.network(0x20, 0x01, 0x0D, 0xB8).description == "2001:db8:0:0::/64")
    #expect(Self.network(0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 7).description == "2001:db8:0:7::/64")
  }

  /// Bounds are counted by address.
  @Test func anIPv6NetworkIsNoIPv4Address() {
    #expect(Self.network(0x20, 0x01, 0x0D, 0xB8) != Self.peer(AF_INET, [32, 1, 13, 184]))
    #expect(Self.network() != Self.peer(AF_INET, [0, 0, 0, 0]))
    #expect(Self.network(0x20, 0x01) == Self.network(0x20, 0x01, 0, 0, 0, 0, 0, 0, 9))
  }
}
