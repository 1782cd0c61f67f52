import Kafka
import ServerProcesses
import Testing

/// One at a time: what a Kafka in memory is confined to.
@globalActor actor KafkaContract {
  static let shared = KafkaContract()
}

/// What a test can ask of a Kafka besides reading and writing.
enum ContractAbility: String, CaseIterable, Sendable {
  /// It can go away and come back.
  case away
  /// A request can be made to fail.
  case failures
  /// Records can be thrown away before they are read, at least all of a partition's.
  case retention
  /// Records can be thrown away up to an offset.
  case deletion
  /// Offsets without a record.
  case transactions
  case staticMembers
  /// Members whose partitions are wanted back can commit until they have joined again.
  case commitsInRebalance
  case topicsAgain
}

/// A failure that a test can ask for.
enum ContractFailure: Sendable, CaseIterable {
  case rebalanceInProgress, illegalGeneration, topicAuthorizationFailed, notLeader
  case coordinatorNotAvailable, disconnect
}

/// The one suite of assertions runs against each of these.
@KafkaContract protocol KafkaUnderTest: AnyObject {
  /// A group of the test's own, with a session that this Kafka needs.
  var options: KafkaOptions { get }
  /// Time that has passed for this Kafka.
  var elapsed: Duration { get }

  /// The topic's name.
  func makeTopic(partitions: Int) throws -> String
  func consumer(_ options: KafkaOptions, _ topics: [String]) throws -> any GroupConsumer
  func producer(_ options: KafkaOptions) throws -> any RecordProducer
  /// Lets time pass where nobody else does.
  func pass()
  /// Lets time pass until the work is done.
  func settle<Value: Sendable>(
    _ work: @escaping @Sendable @KafkaContract () async throws -> Value
  ) async throws -> Value

  func setAway(_ isAway: Bool) throws
  func failCommit(_ failure: ContractFailure) throws
  func failProduce(_ failure: ContractFailure) throws
  /// Throws away all that the partition holds but, perhaps, its last records, and at least what is
  /// below the offset; returns where the partition begins then, at the earliest.
  func overtake(_ partition: KafkaPartition, _ producer: any RecordProducer) async throws
  func delete(before offset: Int64, of partition: KafkaPartition) throws
  /// Writes records in a transaction each, whose ends have offsets, too.
  func writeInTransactions(_ count: Int, to partition: KafkaPartition) throws
  func makeAgain(_ topic: String, partitions: Int) throws
}

extension KafkaUnderTest {
  func setAway(_ isAway: Bool) throws { throw ContractLack() }
  func failCommit(_ failure: ContractFailure) throws { throw ContractLack() }
  func failProduce(_ failure: ContractFailure) throws { throw ContractLack() }
  func overtake(_ partition: KafkaPartition, _ producer: any RecordProducer) async throws {
    throw ContractLack()
  }
  func delete(before offset: Int64, of partition: KafkaPartition) throws { throw ContractLack() }
  func writeInTransactions(_ count: Int, to partition: KafkaPartition) throws {
    throw ContractLack()
  }
  func makeAgain(_ topic: String, partitions: Int) throws { throw ContractLack() }
}

/// A Kafka was asked for what it is declared not to be able to do.
struct ContractLack: Error {}

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
  @Test @KafkaContract func whatIsLackingThrows() throws {
    let kafka = try EmbeddedUnderTest()
    let partition = KafkaPartition(topic: "t", partition: 0)
    #expect(throws: ContractLack.self) { try kafka.delete(before: 1, of: partition) }
    #expect(throws: ContractLack.self) { try kafka.writeInTransactions(1, to: partition) }
    #expect(throws: ContractLack.self) { try kafka.makeAgain("t", partitions: 1) }
  }
}
