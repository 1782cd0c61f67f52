import Assembly
import Glibc
import LocalStack
import Render
import Settings
import Testing

@Suite struct TemplateFileTests {
  @Test func carriesTheTreeOverWithItsPlaces() throws {
    let source = try TemplateFile.parse(
      Array("a: 1\nb: [true, ~, '1', -0.5, 1e3, no, 0x1F, +7, 99999999999999999999, .]\n".utf8),
      name: "x", file: "x.yaml")
    guard case .map(let entries) = source.root.value, case .list(let items) = entries[1].value.value
    else {
      Issue.record("\(source.root)")
      return
    }
    #expect(entries.map(\.key) == ["a", "b"])
    #expect(entries[1].place == TemplateSource.Place(line: 2, column: 1))
    #expect(entries[0].value.value == .integer(1))
    #expect(
      items.map(\.value) == [
        .boolean(true), .null, .string("1"), .number(-0.5), .number(1_000), .string("no"),
        .string("0x1F"), .integer(7), .number(1e20), .string("."),
      ])
    #expect(items[1].place == TemplateSource.Place(line: 2, column: 11))
  }

  @Test func readsADirectoryByName() throws {
    let directory = try ScratchDirectory()
    try directory.write("b: 1\n", to: "go-live.yaml")
    try directory.write("a: 1\n", to: "ended.yaml")
    try directory.write("}", to: ".hidden.yaml")
    try directory.write("}", to: "README.md")
    let sources = try TemplateFile.readAll(in: directory.path)
    #expect(sources.map(\.name) == ["ended", "go-live"])
    #expect(sources[1].file == directory.file("go-live.yaml"))
  }

  @Test func saysAllProblemsOfAllFiles() throws {
    let directory = try ScratchDirectory()
    try directory.write("a: 1\nb: }\n", to: "one.yaml")
    try directory.write("a: 1\na: 2\n", to: "two.yaml")
    try directory.write("a: 1\n", to: "well.yaml")
    let huge = try directory.write("", to: "huge.yaml")
    #expect(truncate(huge, 100 << 20) == 0)
    let error = try #require(throws: SettingsError.self) {
      try TemplateFile.readAll(in: directory.path)
    }
    #expect(error.code == .invalidTemplates)
    let places = error.problems.map { $0.place?.replacing(directory.path + "/", with: "") }
    #expect(places == ["huge.yaml", "one.yaml:2:4", "two.yaml:2:1"])
  }

  @Test func saysThatThereIsNone() throws {
    let directory = try ScratchDirectory()
    for path in [directory.path, directory.file("none")] {
      #expect(throws: SettingsError.self) { try TemplateFile.readAll(in: path) }
    }
  }

  @Test func theShippedTemplatesAreRead() throws {
    let repository = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
      .joined(separator: "/")
    let sources = try TemplateFile.readAll(in: repository + "/Config/templates")
    #expect(sources.map(\.name).contains("go-live"))
    for source in sources { _ = try Template.compile(source) }
  }
}
