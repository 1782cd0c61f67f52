import API
import Dashboard
import Ingest
import Model
import Render
import Settings
import Telemetry

extension Assembly {
  /// The dashboard as a process of its own, which needs Redis alone and writes nothing.
  /// - Parameters:
  ///   - address: to listen on: beyond the loopback interface only with a file of keys, and with a
  ///     certificate or `api.plain`.
  ///   - port: 0: any that is free.
  package static func dashboardOptions(
    _ settings: Settings, address: String, port: Int, log: Log
  ) throws(SettingsError) -> APIOptions {
    var settings = settings
    settings.api.host = address
    settings.api.port = port
    let hasKeys = settings.api.keysFile != nil
    guard hasKeys || isLoopback(address) else {
      throw problem(
        "api.keys_file",
        "is needed to listen on \(Shown.value(address)): without keys anybody who reaches the "
          + "dashboard reads who is streaming and to how many",
        hint: "`fanfare api-key NAME --scope read-only` makes a key and the line for the file; or "
          + "listen on 127.0.0.1 and come through a tunnel (ssh -L)")
    }
    try checkAPIHost(settings)
    let http = try httpOptions(settings)
    var redis = try redisOptions(settings)
    // A paused fan-out must be seen to be so.
    redis.replicaLagLimit = nil
    var options = APIOptions(
      http: http, redis: redis, kafka: kafkaOptions(settings), keyspace: keyspace(settings),
      ingest: ingestOptions(settings), plainSetKey: settings.audience.plainSetKey,
      keys: hasKeys ? try apiKeys(settings) : APIKeyRing(keys: []),
      requestsPerSecond: settings.api.requestsPerSecond, templateProblem: { _ in nil }, log: log,
      audit: nil, wallClock: { WallClock.nowMilliseconds() })
    options.mode = .dashboard(needsKey: hasKeys)
    options.trace = traceOptions(settings, nil, log: log)
    return options
  }

  /// The templates of the directory as readers would see them, as its files are when they are
  /// asked for.
  static func templateSamples(_ settings: Settings) -> TemplateSamples {
    templateSamples(settings, CompiledTemplates(directory: settings.templates.directory))
  }

  static func templateSamples(
    _ settings: Settings, _ compiled: CompiledTemplates
  ) -> TemplateSamples {
    let ingest = ingestOptions(settings)
    return TemplateSamples { occasion in
      let (templates, problems) = compiled.current
      let document = occasion.document ?? SampleEvent.document()
      let event = try? IngestStage(options: ingest).event(document: document)
      var samples: [TemplateSample] = []
      for template in templates where occasion.template.map({ $0 == template.name }) ?? true {
        samples.append(sample(template, event, occasion))
      }
      guard occasion.template == nil else { return samples }
      for (file, problems) in Dictionary(grouping: problems, by: { fileName($0.place) }) {
        let words = problems.map(\.description).joined(separator: "; ")
        samples.append(TemplateSample(name: file, texts: [], trouble: words))
      }
      return samples.sorted { $0.name < $1.name }
    }
  }

  private static func sample(
    _ template: Template, _ event: Event?, _ occasion: TemplateSamples.Occasion
  ) -> TemplateSample {
    guard let event else {
      return TemplateSample(
        name: template.name, texts: [], trouble: "the event cannot be read as it is kept")
    }
    let stage = RenderStage(templates: [template])
    guard let prepared = try? stage.prepare(event.shown(as: template.name)) else {
      return TemplateSample(name: template.name, texts: [], trouble: "it cannot be used")
    }
    let texts = template.locales.flatMap { self.texts(of: prepared, ["locale": $0], as: $0) }
    var sample = TemplateSample(
      name: template.name, texts: texts,
      trouble: texts.first { $0.payload == nil }.map {
        "the text in \($0.locale) does not fit into what \($0.platform) takes"
      })
    guard let profile = occasion.profile else { return sample }
    let fields = Dictionary(profile.map { ($0.name, $0.value) }) { first, _ in first }
    sample.rendered = self.texts(of: prepared, fields, as: nil)
    return sample
  }

  /// - Parameter locale: what it is called; nil: what is chosen by the fields.
  private static func texts(
    of event: PreparedEvent, _ fields: [String: String], as locale: String?
  ) -> [TemplateSample.Text] {
    guard let preview = try? event.preview(recipient: fields) else {
      return [
        TemplateSample.Text(
          locale: locale ?? "", platform: Platform.apns.name, payload: nil, bytes: 0, limit: 0)
      ]
    }
    return preview.messages.map { message in
      TemplateSample.Text(
        locale: locale ?? preview.locale, platform: message.platform.name,
        payload: message.payload, bytes: message.byteCount, limit: message.limit)
    }
      + preview.oversized.map { each in
        TemplateSample.Text(
          locale: locale ?? preview.locale, platform: each.platform.name, payload: nil, bytes: 0,
          limit: 0)
      }
  }

  /// `go-live` of `/etc/fanfare/templates/go-live.yaml:3:1`.
  private static func fileName(_ place: String?) -> String {
    let file = (place ?? "").split(separator: "/").last ?? ""
    return String(file.split(separator: ".yaml").first ?? file)
  }
}
