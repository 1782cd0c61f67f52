import Assembly
import Checkout
import Glibc
import JSON
import Model
import Processes
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

  @Test func aFileThatIsPassedOverForItsEndingIsSaid() throws {
    let directory = try ScratchDirectory()
    try directory.write("a: 1\n", to: "go-live.yml")
    let error = try #require(throws: SettingsError.self) {
      try TemplateFile.readAll(in: directory.path)
    }
    #expect(error.problems.first?.message.contains("go-live.yml must be renamed") == true)
    for name in ["ended.yaml", "x.yaml.bak", "y.YAML", "README.md", ".z.yml"] {
      try directory.write("a: 1\n", to: name)
    }
    let warned = TemplateFile.warnings(in: directory.path).compactMap(\.place)
    #expect(warned == ["go-live.yml", "x.yaml.bak", "y.YAML"].map { directory.file($0) })
    #expect(try TemplateFile.readAll(in: directory.path).map(\.name) == ["ended"])
    #expect(throws: SettingsError.self) {
      try TemplateFile.read(file: directory.file("go-live.yml"))
    }
  }

  @Test func saysThatThereIsNone() throws {
    let directory = try ScratchDirectory()
    for path in [directory.path, directory.file("none")] {
      #expect(throws: SettingsError.self) { try TemplateFile.readAll(in: path) }
    }
  }

  @Test func theShippedTemplatesAreRead() throws {
    let sources = try TemplateFile.readAll(in: Checkout.path("Config/templates"))
    #expect(
      sources.map(\.name) == [
        "go-live-image", "go-live", "live-activity-end", "live-activity-start",
        "live-activity-update", "refresh", "stream-ended",
      ])
    for source in sources {
      let template = try Template.compile(source)
      #expect(template.warnings == [], "\(source.file)")
      let hasText = !["live-activity-end", "live-activity-update", "refresh"].contains(source.name)
      #expect(template.locales.count == (hasText ? 8 : 1), "\(source.file)")
      try renders(template)
    }
  }

  /// For everybody it reads right, whatever is missing of event and profile.
  private func renders(_ template: Template) throws {
    for data in [[:], ["viewers": "1200", "stale_at": "1763713000", "image": "https://a.b/c"]] {
      let fields = Dictionary(uniqueKeysWithValues: data.map { ("data.\($0)", $1) })
      let event = Event(
        id: "e1", app: "com.example.live", streamer: "s1", stream: "b1", template: template.name,
        occurredAt: 1_763_712_000_000, expiresAt: 1_763_712_900_000, fields: fields, document: [])
      let prepared = try RenderStage(templates: [template]).prepare(event)
      for locale in template.locales {
        let preview = try prepared.preview(recipient: ["locale": locale])
        let payload = try JSONValue.parse(Array(preview.payload.utf8)).object
        let aps = try #require(payload?["aps"]?.object)
        #expect(!preview.payload.contains("{{") && preview.locale == locale)
        if template.pushType == .liveactivity {
          #expect(aps["timestamp"]?.integer == 1_763_712_000)
          #expect(
            aps["content-state"]?.object?["viewers"]?.integer
              == (data.isEmpty ? 0 : 1200))
          #expect(aps["dismissal-date"] == nil)
          let isLate = template.name != "live-activity-end" && !data.isEmpty
          #expect(aps["stale-date"]?.integer == (isLate ? 1_763_713_000 : nil))
        } else if template.pushType == .alert {
          for key in ["title", "body"] {
            let text = aps["alert"]?.object?[key]?.string ?? ""
            #expect(text.utf8.count > 5 && !text.hasPrefix(" "), "\(template.name) \(text)")
          }
        }
      }
    }
  }
}
