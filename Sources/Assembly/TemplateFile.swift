import Render
import Settings
import Text
import YAML

/// Reads template files into the values that Render compiles; what they mean is Render's to say.
package enum TemplateFile {
  /// The largest template of sense, all locales of it, is a few tens of KiB.
  package static let maximumBytes = 1 << 20
  /// A worker compiles and keeps each of them.
  static let maximumTemplates = 256

  /// The cases that a template is tested with stand in a file beside it.
  package static let testsEnding = ".tests.yaml"

  /// Every `.yaml` file of the directory but the tests, by name; hidden files are passed over
  /// (Kubernetes mounts a ConfigMap with some). Says all problems of all files at once, each with
  /// `file:line:column`.
  package static func readAll(in directory: String) throws(SettingsError) -> [TemplateSource] {
    let (sources, problems) = readWhatCanBe(in: directory)
    guard problems.isEmpty else { throw SettingsError(code: .invalidTemplates, problems: problems) }
    return sources
  }

  /// The same for whoever goes on with the readable ones, to find their problems at once too.
  package static func readWhatCanBe(
    in directory: String
  ) -> (sources: [TemplateSource], problems: [SettingsFinding]) {
    var sources: [TemplateSource] = []
    var problems: [SettingsFinding] = []
    do {
      let names = try fileNames(in: directory)
      if names.isEmpty {
        let others = warnings(in: directory).compactMap(\.place)
        let hint = others.isEmpty ? "" : ": \(others.joined(separator: ", ")) must be renamed"
        problems.append(problem(directory, "holds no template (no file that ends in .yaml)\(hint)"))
      }
      for name in names {
        do throws(SettingsFindingFailure) {
          sources.append(try read("\(directory)/\(name)"))
        } catch {
          problems.append(error.finding)
        }
      }
    } catch {
      problems.append(error.finding)
    }
    return (sources, problems)
  }

  /// Files of the directory that look like templates and are passed over for their ending, one
  /// warning each.
  package static func warnings(in directory: String) -> [SettingsFinding] {
    let names = try? DirectoryNames.read(directory, upTo: maximumTemplates) {
      let name = $0.lowercased()
      return !$0.hasPrefix(".") && !$0.hasSuffix(".yaml")
        && [".yml", ".yaml"].contains { name.contains($0) }
    }
    return (names ?? []).sorted().map {
      SettingsFinding(
        .warning, place: Shown.path("\(directory)/\($0)"), key: nil,
        message: "is passed over: a template's file ends in .yaml")
    }
  }

  /// The names of the templates that a directory holds, whatever is in them; nil when it cannot be
  /// read.
  package static func names(in directory: String) -> [String]? {
    (try? fileNames(in: directory))?.map { String($0.dropLast(".yaml".count)) }
  }

  /// The names of the files with tests that a directory holds.
  package static func testFiles(in directory: String) -> [String] {
    let names = try? DirectoryNames.read(directory, upTo: maximumTemplates) {
      $0.hasSuffix(testsEnding) && !$0.hasPrefix(".")
    }
    return (names ?? []).sorted()
  }

  /// One file.
  package static func read(file: String) throws(SettingsError) -> TemplateSource {
    do throws(SettingsFindingFailure) {
      return try read(file)
    } catch {
      throw SettingsError(code: .invalidTemplates, problems: [error.finding])
    }
  }

  /// A template's text as a value; `file` is what messages call it.
  package static func parse(
    _ bytes: [UInt8], name: String, file: String
  ) throws(YAMLError) -> TemplateSource {
    let root = try YAMLNode.parse(bytes, maximumBytes: maximumBytes)
    let empty = TemplateSource.Node(.null, TemplateSource.Place(line: 1, column: 1))
    return TemplateSource(name: name, file: file, root: root.map { node($0) } ?? empty)
  }

  private static func read(_ path: String) throws(SettingsFindingFailure) -> TemplateSource {
    let bytes: [UInt8]
    do {
      bytes = try BoundedFile.read(path, maximumBytes: maximumBytes).bytes
    } catch {
      throw SettingsFindingFailure(finding: problem(path, error.message))
    }
    let file = path.split(separator: "/").last.map(String.init) ?? path
    guard !file.lowercased().hasSuffix(".yml") else {
      throw SettingsFindingFailure(
        finding: problem(path, "a template's file ends in .yaml: rename it"))
    }
    let name = file.hasSuffix(".yaml") ? String(file.dropLast(5)) : file
    do throws(YAMLError) {
      return try parse(bytes, name: name, file: path)
    } catch {
      throw SettingsFindingFailure(finding: problem("\(path):\(error.place)", error.message))
    }
  }

  private static func fileNames(in directory: String) throws(SettingsFindingFailure) -> [String] {
    let names: [String]
    do {
      names = try DirectoryNames.read(directory, upTo: maximumTemplates) {
        $0.hasSuffix(".yaml") && !$0.hasSuffix(testsEnding) && !$0.hasPrefix(".")
      }
    } catch {
      throw SettingsFindingFailure(
        finding: problem(
          directory, "the directory of templates cannot be read: \(error.reason)"))
    }
    if names.count > maximumTemplates {
      throw SettingsFindingFailure(
        finding: problem(directory, "holds more than \(maximumTemplates) templates"))
    }
    return names.sorted()
  }

  private static func problem(_ place: String, _ message: String) -> SettingsFinding {
    SettingsFinding(.problem, place: Shown.path(place), key: nil, message: message)
  }

  private struct SettingsFindingFailure: Error {
    let finding: SettingsFinding
  }

  // MARK: Nodes

  private static func node(_ node: YAMLNode) -> TemplateSource.Node {
    TemplateSource.Node(value(node), place(node.place))
  }

  private static func value(_ node: YAMLNode) -> TemplateSource.Value {
    switch node.content {
    case .scalar(let text, .quoted): .string(text)
    case .scalar(let text, .plain): node.isNull ? .null : YAMLCoreSchema.value(of: text)
    case .sequence(let nodes): .list(nodes.map { Self.node($0) })
    case .mapping(let entries):
      .map(
        entries.map {
          TemplateSource.Entry(key: $0.key, place: place($0.keyPlace), value: Self.node($0.value))
        })
    }
  }

  private static func place(_ place: YAMLPlace) -> TemplateSource.Place {
    TemplateSource.Place(line: place.line, column: place.column)
  }
}

/// The meaning of a plain scalar in YAML 1.2's core schema (section 10.3.2). `yes`, `no`, `on`,
/// `off` are texts.
enum YAMLCoreSchema {
  static func value(of text: String) -> TemplateSource.Value {
    switch text {
    case "true", "True", "TRUE": return .boolean(true)
    case "false", "False", "FALSE": return .boolean(false)
    default: break
    }
    guard let first = text.utf8.first, first.isASCIIDigit || [0x2B, 0x2D, 0x2E].contains(first)
    else { return .string(text) }
    let unsigned = text.drop { $0 == "-" || $0 == "+" }
    guard text.count - unsigned.count <= 1 else { return .string(text) }
    if unsigned.utf8.allSatisfy(\.isASCIIDigit), let number = Int64(text) {
      return .integer(number)
    }
    let isNumber =
      unsigned.utf8.contains(where: \.isASCIIDigit)
      && unsigned.utf8.allSatisfy {
        $0.isASCIIDigit || [0x2E, 0x65, 0x45, 0x2B, 0x2D].contains($0)
      }
    if isNumber, let number = Double(text), number.isFinite { return .number(number) }
    return .string(text)
  }
}
