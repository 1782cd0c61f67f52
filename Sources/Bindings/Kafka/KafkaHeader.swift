package struct KafkaHeader: Sendable, Equatable {
  package let name: String
  /// Nil: the header is there without a value.
  package let value: [UInt8]?

  package init(name: String, value: [UInt8]?) {
    self.name = name
    self.value = value
  }

  package init(_ name: String, _ text: String) {
    self.init(name: name, value: Array(text.utf8))
  }
}
