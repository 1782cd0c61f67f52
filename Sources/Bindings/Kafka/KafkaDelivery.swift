/// Where a sent record was written.
package struct KafkaDelivery: Sendable, Equatable {
  package let partition: Int32
  package let offset: Int64

  package init(partition: Int32, offset: Int64) {
    self.partition = partition
    self.offset = offset
  }
}
