import Model
import Render
import Telemetry
import Terminal

/// A template with the event that it is shown for.
package struct TemplatePreview {
  private let template: Template
  private let event: Event

  /// - Parameter event: whatever template it names, it is shown with this one.
  package init(_ template: Template, _ event: Event) {
    self.template = template
    self.event = event.shown(as: template.name)
  }

  /// The event's values that the template cannot use as it says, in words.
  package var complaints: [String] {
    template.mistypedValues(of: event) + template.missingValues(of: event)
  }

  package func preview(_ person: RenderedPerson) throws(CommandFailure) -> RenderPreview {
    do {
      return try RenderStage(templates: [template]).prepare(event)
        .preview(recipient: person.fields)
    } catch {
      throw CommandFailure(.failed, error.description)
    }
  }

  /// The document of an event that is made up.
  /// - Parameter now: ms since 1970.
  package static func sampleEvent(app: String = "com.example.live", now: Int64) -> [UInt8] {
    SampleEvent.document(app: app, occurredAt: WallClock.rfc3339(now))
  }
}
