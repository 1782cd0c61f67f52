import Fixtures
import Subscriptions
import TLS
import Testing
import Text

@testable import WebPush

/// RFC 8291, appendix A: every value that it names.
@Suite struct EncryptionVectorTests {
  private static let message = "When I grow up, I want to be a watermelon"
  private static let salt = "DGv6ra1nlYgDCS1FRnbzlw"
  private static let senderSecret = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
  private static let p256dh =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
  private static let auth = "BTBZMqHH6r4Tts7J_aSIgg"
  private static let body =
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6"
    + "TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qu"
    + "lcy4a-fN"

  private func text(_ start: UnsafeMutableRawPointer, _ count: Int) -> String {
    Base64URL.encode(Array(UnsafeRawBufferPointer(start: start, count: count)))
  }

  @Test func everyValueIsTheRFCs() throws {
    let sender = try P256KeyPair(privateKey: #require(Base64URL.decode(Self.senderSecret.utf8)))
    let keys = try SubscriptionKeys(p256dh: Self.p256dh, auth: Self.auth)
    let schedule = try KeySchedule()
    try keys.bytes.withUnsafeBytes { try schedule.agree(sender, $0) }
    #expect(text(schedule.shared, 32) == "kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs")
    #expect(text(schedule.keyKey, 32) == "Snr3JMxaHVDXHWJn5wdC52WjpCtd2EIEGBykDcZW32k")
    #expect(text(schedule.inputKey, 32) == "S4lYMb_L0FxCeq0WhDx813KgSYqU26kOyzWUdsXYyrg")
    let encryptor = try MessageEncryptor(MessageEncryption(monotonic: { 0 }))
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
    defer { memory.deallocate() }
    memory.copyBytes(from: try #require(Base64URL.decode(Self.salt.utf8)))
    let message = Array(Self.message.utf8)
    let count = try message.withUnsafeBytes {
      try encryptor.seal($0, schedule, filledTo: message.count, memory)
    }
    #expect(text(schedule.messageKey, 32) == "09_eUZGrsvxChDCGRCdkLiDXrReGOEVeSCdCcPBSJSc")
    #expect(text(schedule.contentKey, 16) == "oIhVW04MRdy2XN9CiKLxTg")
    #expect(text(schedule.nonce, 12) == "4h_95klXJ5E_qnoN")
    #expect(Base64URL.encode(Array(memory[..<count])) == Self.body)
  }
}

@Suite struct MessageEncryptionTests {
  private let clock = ManualClock()

  private func encryption(
    window: Duration = MessageEncryption.usualWindow, subscriptions: Int = 64,
    freshKeys: Bool = false
  ) -> MessageEncryption {
    let clock = clock
    return MessageEncryption(
      window: window, subscriptions: subscriptions, freshKeys: freshKeys,
      monotonic: { UInt64(clock.milliseconds.load(ordering: .relaxed)) * 1_000_000 })
  }

  private func encrypt(
    _ message: [UInt8], _ reader: Subscriber, _ encryptor: MessageEncryptor
  ) throws -> [UInt8]? {
    var body = [UInt8](repeating: 0xFF, count: MessageEncryptor.maximumBodyBytes)
    let count = try body.withUnsafeMutableBytes { body in
      try message.withUnsafeBytes { message in
        try reader.keys.bytes.withUnsafeBytes { try encryptor.encrypt(message, for: $0, to: body) }
      }
    }
    return count.map { Array(body[..<$0]) }
  }

  private func sender(_ body: [UInt8]?) -> [UInt8] { (body ?? [])[21..<86].map { $0 } }

  @Test(arguments: [false, true])
  func eachReaderReadsItsOwnMessages(freshKeys: Bool) throws {
    let encryptor = try MessageEncryptor(encryption(freshKeys: freshKeys))
    let readers = try (0..<5).map { _ in try Subscriber() }
    // Three rounds: the secrets of the later ones are known.
    for round in 0..<3 {
      for (index, reader) in readers.enumerated() {
        let message = Array("\(round) for \(index)".utf8)
        let body = try #require(try encrypt(message, reader, encryptor))
        #expect(try reader.read(body) == message)
        #expect(try readers[(index + 1) % 5].read(body) == nil)
      }
    }
  }

  /// Two messages of one key and one nonce would give both away.
  @Test func eachMessageHasASaltOfItsOwn() throws {
    let encryptor = try MessageEncryptor(encryption())
    let reader = try Subscriber()
    let bodies = try (0..<50).map { _ in try encrypt([1], reader, encryptor) ?? [] }
    #expect(Set(bodies.map { Array($0.prefix(16)) }).count == 50)
    #expect(Set(bodies.map { Array($0.suffix(16)) }).count == 50)
  }

  @Test func aSenderIsUsedForAWindow() throws {
    let shared = encryption(window: .seconds(60))
    let one = try MessageEncryptor(shared)
    let other = try MessageEncryptor(shared)
    let reader = try Subscriber()
    let first = try sender(encrypt([1], reader, one))
    clock.advance(59_999)
    #expect(try sender(encrypt([1], reader, other)) == first)
    clock.advance(1)
    let body = try #require(try encrypt([7], reader, one))
    #expect(sender(body) != first)
    // The secret of the sender before is of no use any more.
    #expect(try reader.read(body) == [7])
    #expect(try sender(encrypt([1], reader, other)) == sender(body))
  }

  @Test func freshKeysAreMadeForEachMessage() throws {
    let encryptor = try MessageEncryptor(encryption(freshKeys: true))
    let reader = try Subscriber()
    let senders = try (0..<5).map { _ in try sender(encrypt([1], reader, encryptor)) }
    #expect(Set(senders).count == 5)
  }

  @Test(
    arguments: [
      (0, 128), (1, 128), (128, 128), (129, 256), (256, 256), (257, 512), (513, 1024),
      (1024, 1024), (1025, 2048), (2049, 2800), (2800, 2800), (2801, 2801), (3993, 3993),
    ])
  func messagesAreFilledUp(count: Int, length: Int) throws {
    let encryptor = try MessageEncryptor(encryption())
    let reader = try Subscriber()
    // A message that ends in zeros, or in the delimiter, is none the shorter for it.
    for last in [UInt8(0x41), 2] {
      let message = [UInt8](repeating: last, count: count)
      let body = try #require(try encrypt(message, reader, encryptor))
      #expect(body.count == length + 103)
      #expect(try reader.read(body) == message)
    }
  }

  @Test func aMessageThatIsTooLongIsNotEncrypted() throws {
    #expect(MessageEncryptor.maximumMessageBytes == 3993)
    let encryptor = try MessageEncryptor(encryption())
    let long = [UInt8](repeating: 0x41, count: 3994)
    #expect(try encrypt(long, Subscriber(), encryptor) == nil)
  }
}

@Suite struct SecretTableTests {
  private func keys(_ number: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 4, count: SubscriptionKeys.byteCount)
    withUnsafeBytes(of: number.bigEndian) { bytes.replaceSubrange(70..<78, with: $0) }
    return bytes
  }

  private func found(_ table: borrowing SecretTable, _ number: Int) -> UInt8? {
    var secret = [UInt8](repeating: 0, count: 32)
    let isFound = secret.withUnsafeMutableBytes { target in
      keys(number).withUnsafeBytes { keys in
        target.baseAddress.map { table.copy(keys, to: $0) } ?? false
      }
    }
    guard isFound, secret.allSatisfy({ $0 == secret[0] }) else { return nil }
    return secret[0]
  }

  private func insert(_ table: inout SecretTable, _ number: Int) {
    keys(number).withUnsafeBytes { keys in
      [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 32).withUnsafeBytes {
        if let start = $0.baseAddress { table.insert(keys, start) }
      }
    }
  }

  @Test func remembersWhatWasPutInLast() {
    // One set: its oldest makes room.
    var table = SecretTable(capacity: 4)
    for number in 1...6 { insert(&table, number) }
    let all = (0...7).map { found(table, $0) }
    #expect(all == [nil, nil, nil, 3, 4, 5, 6, nil])
  }

  @Test func forgetsAllAtOnce() {
    var table = SecretTable(capacity: 64)
    for number in 1...6 { insert(&table, number) }
    table.forgetAll()
    let all = (1...6).map { found(table, $0) }
    #expect(all == [nil, nil, nil, nil, nil, nil])
    insert(&table, 3)
    let three = found(table, 3)
    #expect(three == 3)
  }

  @Test func aTableWithoutCapacityRemembersNothing() {
    var table = SecretTable(capacity: 0)
    insert(&table, 1)
    let one = found(table, 1)
    #expect(one == nil)
  }

  @Test func oneThousandFillMostOfATable() {
    var table = SecretTable(capacity: 1024)
    for number in 0..<1024 { insert(&table, number) }
    let hits = (0..<1024).count { found(table, $0) != nil }
    #expect(hits > 700)
  }
}
