import Testing

@testable import Kafka
@testable import Settings

/// librdkafka's properties that nobody may set are named twice: by the settings, with the key to
/// set instead, and by the binding, whoever uses it.
@Suite struct ReservedPropertyTests {
  @Test(arguments: KafkaOptions.reserved.keys.sorted())
  func settingsRefuseWhatTheBindingRefuses(name: String) {
    #expect(KafkaProperties.complaint(name: name, value: "1") != nil)
  }

  @Test(arguments: KafkaProperties.owned.keys.sorted())
  func theBindingRefusesWhatSettingsRefuse(name: String) {
    #expect(KafkaOptions.reserved[name] != nil)
  }

  @Test func noPropertyIsRefusedForTwoReasons() {
    #expect(Set(KafkaProperties.owned.keys).isDisjoint(with: KafkaProperties.keys.keys))
  }
}
