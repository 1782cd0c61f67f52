import JSON
import Model
import Render
import Terminal

/// The changes that readers would see between two versions of a template. Every value that the
/// templates name is there once, as its own name in brackets, and missing once, so that changed
/// fallbacks are found too.
package struct TemplateDiff: Sendable {
  /// One thing that differs, and for whom.
  package struct Change: Sendable, Equatable {
    /// `title`, or the path in the payload: `aps.sound`.
    package let what: String
    package let old: String
    package let new: String
    /// Seen only where the event and the profile lack values.
    package let isWithoutValues: Bool
    package fileprivate(set) var platforms: [String]
    package fileprivate(set) var locales: [String]
  }

  package struct Size: Sendable, Equatable {
    package let locale: String
    package let platform: String
    /// Bytes; nil where there is no message.
    package let old: Int?
    package let new: Int?
  }

  package let name: String
  package private(set) var settings: [(name: String, old: String, new: String)] = []
  package private(set) var addedLocales: [String] = []
  package private(set) var removedLocales: [String] = []
  package private(set) var addedValues: [String] = []
  package private(set) var removedValues: [String] = []
  package private(set) var changes: [Change] = []
  /// Those that differ.
  package private(set) var sizes: [Size] = []

  package var isEmpty: Bool {
    settings.isEmpty && addedLocales.isEmpty && removedLocales.isEmpty && addedValues.isEmpty
      && removedValues.isEmpty && changes.isEmpty && sizes.isEmpty
  }

  /// - Parameter event: any that workers take.
  package init(old: Template, new: Template, event: Event) {
    name = new.name
    for (before, after) in zip(old.settings, new.settings) where before.value != after.value {
      settings.append((before.name, before.value, after.value))
    }
    addedLocales = new.locales.filter { !old.locales.contains($0) }
    removedLocales = old.locales.filter { !new.locales.contains($0) }
    addedValues = new.variableNames.filter { !old.variableNames.contains($0) }
    removedValues = old.variableNames.filter { !new.variableNames.contains($0) }
    let full = old.filled(new.filled(event))
    let bare = event.shown(with: [:])
    for locale in new.locales + removedLocales {
      let person = old.filled(person: new.filled(person: ["locale": locale]))
      let before = RenderedLeaves(old, full, person)
      let after = RenderedLeaves(new, full, person)
      compare(before, after, locale, isWithoutValues: false)
      sizes += Self.sizes(before, after, locale)
      compare(
        RenderedLeaves(old, bare, ["locale": locale]),
        RenderedLeaves(new, bare, ["locale": locale]), locale, isWithoutValues: true)
    }
  }

  private mutating func compare(
    _ before: RenderedLeaves, _ after: RenderedLeaves, _ locale: String, isWithoutValues: Bool
  ) {
    for platform in RenderedLeaves.platforms {
      for what in RenderedLeaves.names(before, after, platform) {
        let old = before.text(what, platform)
        let new = after.text(what, platform)
        guard old != new else { continue }
        let difference = TextDifference(expected: old, actual: new)
        let isKnown = changes.contains {
          $0.what == what && !$0.isWithoutValues && $0.platforms.contains(platform)
            && $0.locales.contains(locale)
            && TextDifference(expected: $0.old, actual: $0.new).isSameEdit(as: difference)
        }
        guard !isWithoutValues || !isKnown else { continue }
        note(
          Change(
            what: what, old: old, new: new, isWithoutValues: isWithoutValues,
            platforms: [platform], locales: [locale]))
      }
    }
  }

  /// A change that is the same for several readers stands once.
  private mutating func note(_ change: Change) {
    let index = changes.firstIndex {
      $0.what == change.what && $0.old == change.old && $0.new == change.new
        && $0.isWithoutValues == change.isWithoutValues
    }
    guard let index else {
      changes.append(change)
      return
    }
    for platform in change.platforms where !changes[index].platforms.contains(platform) {
      changes[index].platforms.append(platform)
    }
    for locale in change.locales where !changes[index].locales.contains(locale) {
      changes[index].locales.append(locale)
    }
  }

  private static func sizes(
    _ before: RenderedLeaves, _ after: RenderedLeaves, _ locale: String
  ) -> [Size] {
    RenderedLeaves.platforms.compactMap { platform in
      let size = Size(
        locale: locale, platform: platform, old: before.bytes(platform), new: after.bytes(platform))
      return size.old == size.new ? nil : size
    }
  }
}

/// A rendered push, taken apart: the texts that are shown by their name, everything else by its
/// path in the payload.
private struct RenderedLeaves {
  static let platforms = [Platform.apns, .fcm, .webpush].map(\.name)
  /// They are told by the name of the text.
  private static let shownPaths = [
    "aps.alert", "aps.alert.title", "aps.alert.subtitle", "aps.alert.body", "notification.title",
    "notification.body",
  ]

  private struct Leaves {
    let bytes: Int
    /// In the order of the payload.
    var values: [(name: String, text: String)]
  }

  private var leaves: [(platform: String, leaves: Leaves)] = []

  init(_ template: Template, _ event: Event, _ fields: [String: String]) {
    var person = RenderedPerson()
    person.fields = fields
    do throws(CommandFailure) {
      for message in try TemplatePreview(template, event).preview(person).messages {
        leaves.append((message.platform.name, Self.leaves(of: message)))
      }
    } catch {
      let failed = Leaves(bytes: 0, values: [("push", "cannot be sent: \(error.message)")])
      leaves.append((Platform.apns.name, failed))
    }
  }

  private static func leaves(of message: RenderPreview.Message) -> Leaves {
    let shown = ShownMessage(message)
    var leaves = Leaves(bytes: message.byteCount, values: [])
    let texts = [("title", shown.title), ("subtitle", shown.subtitle), ("body", shown.body)]
    for (name, text) in texts { if let text { leaves.values.append((name, text)) } }
    if let payload = try? JSONValue.parseWithAnyIntegers(Array(message.payload.utf8)) {
      add(payload, "", to: &leaves.values)
    }
    return leaves
  }

  private static func add(
    _ value: JSONValue, _ path: String, to values: inout [(name: String, text: String)]
  ) {
    if let object = value.object, !object.members.isEmpty {
      for member in object.members {
        add(member.value, path.isEmpty ? member.name : "\(path).\(member.name)", to: &values)
      }
    } else if !(shownPaths.contains(path) && value.string != nil) {
      values.append((path, TemplateCases.text(value)))
    }
  }

  /// Of both, in the order of the newer.
  static func names(
    _ before: RenderedLeaves, _ after: RenderedLeaves, _ platform: String
  ) -> [String] {
    var names: [String] = []
    for side in [after, before] {
      for value in side.of(platform)?.values ?? [] where !names.contains(value.name) {
        names.append(value.name)
      }
    }
    return names
  }

  private func of(_ platform: String) -> Leaves? {
    leaves.first { $0.platform == platform }?.leaves
  }

  func text(_ name: String, _ platform: String) -> String {
    of(platform)?.values.first { $0.name == name }?.text ?? "nothing"
  }

  func bytes(_ platform: String) -> Int? { of(platform)?.bytes }
}
