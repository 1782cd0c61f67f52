import Kafka
import ServerProcesses
import Testing

/// The Kafkas that the contract holds for.
enum ContractKafka: Sendable, CustomTestStringConvertible, CaseIterable {
  case memory, embedded, apache

  var testDescription: String { "\(self)" }

  /// What it cannot do, and why: tests that need it do not run against it.
  var lacks: [ContractAbility: String] {
    switch self {
    case .memory: [:]
    case .embedded:
      [
        .deletion: "librdkafka's mock cluster takes no admin requests",
        .transactions: "the mock cluster writes no control records",
        .staticMembers: "the mock cluster gives whoever comes back a new assignment",
        .commitsInRebalance: "the mock cluster refuses every commit while a group is handed out",
        .topicsAgain: "the mock cluster cannot delete a topic",
      ]
    case .apache:
      [
        .away: "other tests use the same broker; RealKafkaTests and FaultTests kill their own",
        .failures: "a real broker fails no request on demand",
        .topicsAgain: "a real broker deletes a topic when it has time for it",
      ]
    }
  }

  /// Those that are here and can do it.
  static func that(can abilities: ContractAbility...) -> [ContractKafka] {
    allCases.filter { kafka in
      (kafka != .apache || RealKafka.home != nil) && abilities.allSatisfy { kafka.lacks[$0] == nil }
    }
  }

  @KafkaContract func start() throws -> any KafkaUnderTest {
    switch self {
    case .memory: MemoryUnderTest()
    case .embedded: try EmbeddedUnderTest()
    case .apache: try ApacheUnderTest()
    }
  }
}

/// What the contract leaves out is said here, and nowhere in silence.
@Suite struct ContractCoverageTests {
  @Test func aKafkaInMemoryCanDoAll() {
    #expect(ContractKafka.memory.lacks.isEmpty)
  }

  @Test func eachAbilityIsHeldToAnotherKafkaWhereOneHasIt() {
    let alone = ContractAbility.allCases.filter { ability in
      ContractKafka.embedded.lacks[ability] != nil && ContractKafka.apache.lacks[ability] != nil
    }
    #expect(alone == [.topicsAgain])
  }

  @Test(.enabled(if: RealKafka.home != nil, "FANFARE_KAFKA_HOME names no Apache Kafka"))
  func theContractHoldsForApacheKafkaToo() {
    #expect(ContractKafka.that().contains(.apache))
  }

  /// Whoever asks for what is not there hears of it.
  @Test @KafkaContract func missingAbilitiesThrow() throws {
    let kafka = try EmbeddedUnderTest()
    let partition = KafkaPartition(topic: "t", partition: 0)
    #expect(throws: ContractLack.self) { try kafka.delete(before: 1, of: partition) }
    #expect(throws: ContractLack.self) { try kafka.writeInTransactions(1, to: partition) }
    #expect(throws: ContractLack.self) { try kafka.makeAgain("t", partitions: 1) }
  }
}
