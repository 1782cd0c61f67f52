import Checkout
import Ingest
import Testing

@Suite struct EventSchemaFileTests {
  /// `UPDATE_SCHEMA=1` writes it.
  @Test func theFileIsWhatTheCodeSays() throws {
    let file = try Checkout.made(
      "Config/event.schema.json", from: EventSchema.text, variable: "UPDATE_SCHEMA")
    #expect(file == EventSchema.text)
  }
}
