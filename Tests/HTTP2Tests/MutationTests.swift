import HTTP2
import Testing
import Text

/// Real conversations with bytes of the server (or the client) changed, dropped or doubled: the
/// session reports each slot once at most and never traps.
@Suite struct MutationTests {
  private func conversation(mutating random: inout SplitMix64, atServer: Bool) throws {
    let wire = try Wire()
    let body = [UInt8](repeating: 0x7b, count: 200)
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 200, alignment: 1)
    defer { bytes.deallocate() }
    bytes.copyBytes(from: body)
    let server = wire.server.session
    var submitted = 0
    do {
      for round in 0..<12 {
        while submitted < round * 3 {
          _ = try wire.client.submit(wire.block, body: .init(bytes), slot: submitted)
          submitted += 1
        }
        while let output = try wire.client.nextOutput() {
          let sent = atServer ? Array(output) : mutate(Array(output), &random)
          try sent.withUnsafeBytes { try server.receive($0) }
          wire.server.hear()
        }
        while let output = try server.nextOutput() {
          let sent = atServer ? mutate(Array(output), &random) : Array(output)
          try sent.withUnsafeBytes { try wire.client.receive($0) }
        }
      }
    } catch is HTTP2Error {
      // The connection is over: allowed. A trap is not.
    }
    wire.recorder.drain(wire.client)
    for (slot, heard) in wire.recorder.heard {
      #expect(slot < submitted)
      #expect(heard.closed.count <= 1)
    }
    #expect(wire.client.openStreams == submitted - wire.recorder.closedCount)
  }

  private func mutate(_ bytes: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
    guard Int.random(in: 0..<8, using: &random) == 0, !bytes.isEmpty else { return bytes }
    var changed = bytes
    let place = Int.random(in: 0..<bytes.count, using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: changed[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1: changed[place] = UInt8.random(in: .min ... .max, using: &random)
    case 2: changed.remove(at: place)
    case 3: changed += bytes
    case 4: changed.insert(UInt8.random(in: .min ... .max, using: &random), at: place)
    default: changed = []
    }
    return changed
  }

  @Test(arguments: [true, false])
  func mutatedBytesNeverTrap(atServer: Bool) throws {
    for seed in 0..<1500 {
      var random = SplitMix64(seed: UInt64(seed))
      try conversation(mutating: &random, atServer: atServer)
    }
  }
}
