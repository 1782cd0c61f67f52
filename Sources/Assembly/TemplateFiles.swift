import Pipeline
import Render
import Settings
import Telemetry
import Threads

/// The templates of a process that reads their files again while it runs. A directory is used as a
/// whole or not at all: while one file has a mistake, no change is used.
package final class TemplateFiles: Sendable {
  private struct State {
    /// Nil: no sound directory was found yet.
    var templates: [Template]?
    /// Of the files that `templates` were made of.
    var used: [FileMark]
    /// Of the files that were decided on last, whether used or refused.
    var decided: [FileMark]
    /// Of files that may still be being written.
    var unsettled: [FileMark]?
    var figures = ReloadFigures()
  }

  private let directory: String
  private let wallClock: @Sendable () -> Int64
  private let state: ThreadLock<State>

  /// Reads all of them.
  /// - Parameter wallClock: ms since 1970.
  /// - Throws: all mistakes of all files.
  package init(
    directory: String, wallClock: @escaping @Sendable () -> Int64
  ) throws(SettingsError) {
    // Before the files: a change in between is found by the next look.
    let marks = FileMark.all(in: directory)
    let (templates, problems) = Assembly.templatesAndProblems(in: directory)
    guard problems.isEmpty else { throw SettingsError(code: .invalidTemplates, problems: problems) }
    self.directory = directory
    self.wallClock = wallClock
    state = ThreadLock(State(templates: templates, used: marks, decided: marks))
  }

  /// For a process that serves without templates too: the first look reads them.
  package init(unreadIn directory: String, wallClock: @escaping @Sendable () -> Int64) {
    self.directory = directory
    self.wallClock = wallClock
    state = ThreadLock(State(templates: nil, used: [], decided: []))
  }

  /// Those that are used now; nil where no sound directory was found yet.
  package var templates: [Template]? { state.withLock { $0.templates } }
  /// Names of those whose files were there at the last change; nil as above.
  package var names: [String]? {
    state.withLock { state in state.templates.map { _ in state.used.map(\.name) } }
  }
  package var figures: ReloadFigures { state.withLock { $0.figures } }

  /// Uses the files as they are now, if they can be used. To be called from one thread at a time.
  /// - Parameter isSettled: whoever wrote them says that they are whole. Otherwise a change is used
  ///   when a second look finds the same. It also tells the mistakes of refused files again.
  package func look(isSettled: Bool) -> TemplateChange? {
    let marks = FileMark.all(in: directory)
    let isDue = state.withLock { state -> Bool? in
      if marks == FileMark.unreadable, state.templates == nil { return nil }
      let isAskedAgain = isSettled && state.figures.refusedSince != nil
      guard marks != state.decided || isAskedAgain else {
        state.unsettled = nil
        return nil
      }
      guard isSettled || marks == state.unsettled else {
        state.unsettled = marks
        return false
      }
      state.unsettled = nil
      state.decided = marks
      return true
    }
    guard let isDue else { return nil }
    return isDue ? read(marks) : .unsettled
  }

  private func read(_ marks: [FileMark]) -> TemplateChange {
    let (found, problems) = Assembly.templatesAndProblems(in: directory)
    let now = wallClock()
    return state.withLock { state in
      guard problems.isEmpty else {
        state.figures.refused += 1
        state.figures.refusedSince = state.figures.refusedSince ?? now
        return .refused(problems.map { ($0.place.map { "\($0): " } ?? "") + $0.message })
      }
      let names = found.map(\.name)
      // An event that is under way still needs it.
      let left = (state.templates ?? []).filter { !names.contains($0.name) }
        .prefix(TemplateFile.maximumTemplates)
      let changed = FileMark.changed(from: state.used, to: marks)
      state.templates = found + left
      state.used = marks
      state.figures.used += 1
      state.figures.refusedSince = nil
      return .replaced(
        .init(templates: found + left, changed: changed, removed: left.map(\.name)))
    }
  }
}

/// The templates of a directory with their mistakes, as the files are when they are asked for.
/// Compiles them when a file has changed, and not again before.
final class CompiledTemplates: Sendable {
  typealias Found = (templates: [Template], problems: [SettingsFinding])

  private let directory: String
  private let compile: @Sendable (_ directory: String) -> Found
  private let known = ThreadLock<(marks: [FileMark], found: Found)?>(nil)

  init(
    directory: String,
    compile: @escaping @Sendable (_ directory: String) -> Found = {
      Assembly.templatesAndProblems(in: $0)
    }
  ) {
    self.directory = directory
    self.compile = compile
  }

  /// Reads the files; blocks for as long as that takes, and others who ask meanwhile.
  var current: Found {
    known.withLock { known in
      // Before the files: a change in between is found by the next look.
      let marks = FileMark.all(in: directory)
      if let known, known.marks == marks { return known.found }
      let found = compile(directory)
      known = (marks, found)
      return found
    }
  }
}

/// A template's file and a hash of its bytes, or of why it cannot be read.
private struct FileMark: Equatable {
  /// Of the template.
  let name: String
  let hash: Int

  /// Those of a directory that cannot be read.
  static let unreadable = [FileMark(name: "", hash: 0)]

  /// By name.
  static func all(in directory: String) -> [FileMark] {
    guard let names = TemplateFile.names(in: directory) else { return unreadable }
    return names.map { name in
      var hasher = Hasher()
      do throws(SettingComplaint) {
        let file = try BoundedFile.read(
          "\(directory)/\(name).yaml", maximumBytes: TemplateFile.maximumBytes)
        file.bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
      } catch {
        hasher.combine(error.message)
      }
      return FileMark(name: name, hash: hasher.finalize())
    }
  }

  /// Names of files that are new or have other bytes.
  static func changed(from old: [FileMark], to new: [FileMark]) -> [String] {
    new.filter { !old.contains($0) }.map(\.name)
  }
}
