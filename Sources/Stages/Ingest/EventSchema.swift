/// An event as JSON Schema says it: the API's description has it within.
package enum EventSchema {
  /// `Config/event.schema.json`: the file here is a link to it.
  package static let text = String(decoding: PackageResources.event_schema_json, as: UTF8.self)
}
