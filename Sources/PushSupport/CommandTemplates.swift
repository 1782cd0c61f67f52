import Assembly
import Render
import Settings
import Terminal
import VerbSupport

/// Files of templates and of their tests, as the command line names them.
package struct CommandTemplates {
  package private(set) var templates: [Template] = []
  /// Each with its place.
  package private(set) var problems: [String] = []
  package private(set) var warnings: [String] = []

  /// Compiles a file, or all of a directory.
  /// - Parameter path: nil: `templates.directory`.
  package init(_ path: String?, _ settings: Settings) {
    let path = path ?? settings.templates.directory
    if Self.isDirectory(path) {
      let (found, problems) = Assembly.templatesAndProblems(in: path)
      templates = found
      self.problems = problems.map(\.description)
      warnings = TemplateFile.warnings(in: path).map(\.description)
    } else {
      do {
        templates = [try Assembly.template(file: path)]
      } catch {
        problems = error.problems.map(\.description)
      }
    }
    warnings += templates.flatMap(\.warnings).map(\.description)
  }

  /// Ends the command at a mistake.
  package static func sound(
    _ path: String, _ settings: Settings
  ) throws(CommandFailure) -> [Template] {
    let read = CommandTemplates(path, settings)
    guard read.problems.isEmpty else {
      throw CommandFailure(.config, "\(path) cannot be used", findings: read.problems)
    }
    return read.templates
  }

  /// A template and the file of its tests.
  package struct Tested {
    package let template: Template
    /// Nil: it has none.
    package let tests: TemplateSource?
    package let testsFile: String
  }

  /// Of a directory each template in it; of a template's file or its tests' that one.
  /// - Parameter path: nil: `templates.directory`.
  package static func tested(
    _ path: String?, _ settings: Settings
  ) throws(CommandFailure) -> [Tested] {
    let path = path ?? settings.templates.directory
    guard !isDirectory(path) else {
      let templates = try sound(path, settings)
      try check(namesOf: templates.map(\.name), in: path)
      return try templates.map { (template) throws(CommandFailure) in
        try tested(template, "\(path)/\(template.name)\(TemplateFile.testsEnding)")
      }
    }
    let ending = path.hasSuffix(TemplateFile.testsEnding) ? TemplateFile.testsEnding : ".yaml"
    guard path.hasSuffix(ending) else {
      throw CommandFailure(.usage, "\(path) is neither a directory nor a file that ends in .yaml")
    }
    let base = path.dropLast(ending.count)
    let template = try sound(base + ".yaml", settings)[0]
    return [try tested(template, base + TemplateFile.testsEnding)]
  }

  private static func tested(
    _ template: Template, _ file: String
  ) throws(CommandFailure) -> Tested {
    guard BoundedFile.exists(file) else {
      return Tested(template: template, tests: nil, testsFile: file)
    }
    return Tested(template: template, tests: try tests(file), testsFile: file)
  }

  package static func tests(_ file: String) throws(CommandFailure) -> TemplateSource {
    do {
      return try TemplateFile.read(file: file)
    } catch {
      throw CommandFailure(
        .failed, "\(file) cannot be read", findings: error.problems.map(\.description))
    }
  }

  /// The same of a text that is to become a file.
  package static func tests(
    text: String, file: String
  ) throws(CommandFailure) -> TemplateSource {
    do {
      return try TemplateFile.parse(Array(text.utf8), name: "", file: file)
    } catch {
      throw CommandFailure(.failed, "\(file):\(error.place): \(error.message)")
    }
  }

  /// Tests of a template that is not there would never run.
  private static func check(
    namesOf templates: [String], in directory: String
  ) throws(CommandFailure) {
    let files = TemplateFile.testFiles(in: directory)
    let orphans = files.filter {
      !templates.contains(String($0.dropLast(TemplateFile.testsEnding.count)))
    }
    guard orphans.isEmpty else {
      throw CommandFailure(
        .failed, "tests of a template that is not there",
        findings: orphans.map { "\(directory)/\($0)" })
    }
  }

  package static func isDirectory(_ path: String) -> Bool { TemplateFile.names(in: path) != nil }
}
