import Model
import Testing

@Suite struct PushIdentifierTests {
  private func text(_ event: String, _ token: [UInt8]) -> String {
    let seed = PushIdentifier.Seed(event: event)
    return token.withUnsafeBytes { PushIdentifier(seed: seed, token: $0).text }
  }

  private func text(_ event: String, _ token: String) -> String { text(event, Array(token.utf8)) }

  /// RFC 9562: 8-4-4-4-12 lower-case digits, version 8, variant 0b10.
  private func isCanonical(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.count == 36 else { return false }
    return bytes.enumerated().allSatisfy { index, byte in
      switch index {
      case 8, 13, 18, 23: byte == UInt8(ascii: "-")
      case 14: byte == UInt8(ascii: "8")
      case 19: "89ab".utf8.contains(byte)
      default: "0123456789abcdef".utf8.contains(byte)
      }
    }
  }

  @Test func isACanonicalUUIDOfVersionEight() {
    for index in 0..<20_000 {
      let text = text("event \(index % 7)", "token \(index)")
      guard isCanonical(text) else {
        Issue.record("\(text)")
        return
      }
    }
    for length in 0...40 { #expect(isCanonical(text("", [UInt8](repeating: 0, count: length)))) }
  }

  @Test func everyDigitIsUsedAtEveryPlace() {
    var seen = [Set<Character>](repeating: [], count: 36)
    for index in 0..<5_000 {
      for (place, digit) in text("live-8f2c", "\(index)").enumerated() { seen[place].insert(digit) }
    }
    for (place, digits) in seen.enumerated() {
      let wanted = [8, 13, 14, 18, 23].contains(place) ? 1 : place == 19 ? 4 : 16
      #expect(digits.count == wanted, "place \(place)")
    }
  }

  /// A worker of another version must give a push the same name after a crash: these must not
  /// change.
  @Test func staysTheSame() {
    #expect(text("live-8f2c", "00fc13adff78") == "3d380d5b-33cc-8e49-9890-eff3d4097a09")
    #expect(text("", "") == "28481db6-3f7b-824d-8507-8a3d719f6628")
    #expect(
      text("live-8f2c", String(repeating: "a1", count: 32))
        == "e541be22-6649-8e05-94c2-3de966e61995")
  }

  @Test func dependsOnEveryByte() {
    let token = (0..<37).map { UInt8($0) }
    var texts: Set<String> = [text("e", token), text("f", token), text("e ", token)]
    for index in token.indices {
      var changed = token
      changed[index] ^= 1
      texts.insert(text("e", changed))
      texts.insert(text("e", Array(token.prefix(index))))
    }
    #expect(texts.count == 3 + 2 * token.count)
  }

  @Test func zerosOfDifferentLengthDiffer() {
    let texts = (0..<200).map { text("e", [UInt8](repeating: 0, count: $0)) }
    #expect(Set(texts).count == 200)
  }

  @Test func aQuarterOfAMillionTokensHaveAsManyNames() {
    let seed = PushIdentifier.Seed(event: "live-8f2c")
    /// All 36 bytes; an array for each would be most of the test's time.
    struct Name: Hashable {
      let first: SIMD4<UInt64>
      let rest: UInt64
    }
    var names = Set<Name>(minimumCapacity: 250_000)
    var token = [UInt8](repeating: UInt8(ascii: "0"), count: 64)
    let digits = Array("0123456789abcdef".utf8)
    withUnsafeTemporaryAllocation(byteCount: 36, alignment: 1) { room in
      for index in 0..<250_000 {
        for place in 0..<5 { token[63 - place] = digits[(index >> (4 * place)) & 0xF] }
        _ = token.withUnsafeBytes { PushIdentifier(seed: seed, token: $0).write(to: room) }
        names.insert(
          Name(
            first: room.loadUnaligned(as: SIMD4<UInt64>.self),
            rest: room.loadUnaligned(fromByteOffset: 28, as: UInt64.self)))
      }
    }
    #expect(names.count == 250_000)
  }

  @Test func writesOnlyItsOwnRoom() {
    let seed = PushIdentifier.Seed(event: "e")
    let identifier = [UInt8(1)].withUnsafeBytes { PushIdentifier(seed: seed, token: $0) }
    var room = [UInt8](repeating: 0xAA, count: 40)
    let written = room.withUnsafeMutableBytes {
      identifier.write(to: UnsafeMutableRawBufferPointer(rebasing: $0[1..<39]))
    }
    #expect(written == PushIdentifier.length)
    #expect(String(decoding: room[1..<37], as: UTF8.self) == identifier.text)
    #expect(room[0] == 0xAA && room[37...].allSatisfy { $0 == 0xAA })
    var small = [UInt8](repeating: 0xAA, count: 35)
    #expect(small.withUnsafeMutableBytes { identifier.write(to: $0) } == 0)
    #expect(small.allSatisfy { $0 == 0xAA })
  }
}
