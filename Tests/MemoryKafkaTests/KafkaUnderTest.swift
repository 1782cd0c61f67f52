import Kafka

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
