import API
import Glibc
import HTTPServer
import Settings
import TLS
import Telemetry
import Versions

extension Assembly {
  /// The request bodies of all threads together take at most this much.
  static let maximumBodiesBytes = 128 << 20

  /// - Parameters:
  ///   - audit: takes a line for each change; nil: nobody does.
  ///   - templates: those that somebody keeps up to date; nil: the names of the files are read for
  ///     each event.
  package static func apiOptions(
    _ settings: Settings, log: Log, audit: Log?, templates: TemplateFiles? = nil
  ) throws(SettingsError) -> APIOptions {
    let api = settings.api
    let http = try httpOptions(settings)
    try checkAPIHost(settings)
    var redis = try redisOptions(settings)
    // A client reads its own writes: replicas, which may lag, are not asked.
    redis.replicaLagLimit = nil
    let directory = settings.templates.directory
    var options = APIOptions(
      http: http, redis: redis, kafka: kafkaOptions(settings), keyspace: keyspace(settings),
      ingest: ingestOptions(settings), plainSetKey: settings.audience.plainSetKey,
      keys: try apiKeys(settings), requestsPerSecond: api.requestsPerSecond,
      templateProblem: { template in
        guard let names = templates?.names ?? TemplateFile.names(in: directory),
          !names.contains(template)
        else { return nil }
        let known = names.isEmpty ? "no template at all" : names.joined(separator: ", ")
        return "there is no template \(Shown.value(template)) in templates.directory "
          + "(\(Shown.path(directory))), which holds \(known): name one of these in `template`, or "
          + "put the file there and where workers read theirs"
      }, log: log, audit: audit, wallClock: { WallClock.nowMilliseconds() })
    // With four, Redis is what others wait for.
    options.threads = api.threads == 0 ? min(4, ProcessLimits.current.processors) : api.threads
    options.libraries = Dictionary(uniqueKeysWithValues: LibraryVersions.all.map { ($0, $1) })
    options.subscriptions = subscriptionRules(settings)
    options.trace = traceOptions(settings, templates, log: log)
    options.templateSamples = templateSamples(settings)
    options.templateReloads = { templates?.figures ?? ReloadFigures() }
    options.imports.maximumBytes = api.imports.maximumBytes
    options.imports.atOnce = api.imports.atOnce
    options.imports.timeout = api.imports.timeout
    options.imports.minimumRate = api.imports.minimumRate
    return options
  }

  static func httpOptions(_ settings: Settings) throws(SettingsError) -> HTTPServerOptions {
    let api = settings.api
    var http = HTTPServerOptions(wallClock: { WallClock.nowMilliseconds() })
    http.host = api.host
    http.port = api.port
    http.maximumConnections = api.maximumConnections
    http.exchangeTimeout = api.exchangeTimeout
    http.idleTimeout = api.idleTimeout
    http.maximumHeadBytes = 8 << 10
    http.maximumBodiesBytes = maximumBodiesBytes
    http.identity = try apiIdentity(settings)
    return http
  }

  /// The templates of `fanfare api`, which serves all the same where they have mistakes or are not
  /// there.
  package static func templateFiles(_ settings: Settings, log: Log) -> TemplateFiles {
    let files = TemplateFiles(
      unreadIn: settings.templates.directory, wallClock: { WallClock.nowMilliseconds() })
    if case .refused(let mistakes) = files.look(isSettled: true) {
      for mistake in mistakes {
        log.error("the templates cannot be used", ["reason": .text(mistake)])
      }
    }
    return files
  }

  /// In the clear nobody is served from elsewhere.
  package static func checkAPIHost(_ settings: Settings) throws(SettingsError) {
    let api = settings.api
    let hasTLS = api.tls.certificateFile != nil || api.tls.keyFile != nil
    guard hasTLS || api.plain || isLoopback(api.host) else {
      throw problem(
        "api.host", "without a certificate only the loopback interface is served",
        hint:
          "set api.tls.certificate_file and api.tls.key_file, or api.plain where a proxy has TLS")
    }
  }

  /// A line for each change on standard output, none of them left out; nil: nobody wants them.
  package static func auditLog(_ settings: Settings) -> Log? {
    guard settings.api.audit else { return nil }
    var options = logOptions(settings)
    options.level = .info
    options.format = .json
    options.repeatLimit = 0
    return Log(options, sink: DescriptorSink(descriptor: STDOUT_FILENO))
  }

  /// Of the file as it is now.
  package static func apiKeys(_ settings: Settings) throws(SettingsError) -> APIKeyRing {
    guard let path = settings.api.keysFile else {
      throw problem(
        "api.keys_file", "is needed: nobody may ask without a key",
        hint: "`fanfare api-key NAME --scope app-server` makes one, and the line for the file")
    }
    do throws(SettingComplaint) {
      let file = try BoundedFile.readSecret(path, maximumBytes: APIKeyRing.maximumFileBytes)
      do throws(APIKeyRing.Flaw) {
        return try APIKeyRing(text: file.text)
      } catch {
        throw SettingComplaint(error.message)
      }
    } catch {
      throw problem("api.keys_file", error.message, hint: error.hint)
    }
  }

  /// Of the files as they are now; nil where none is set.
  package static func apiIdentity(
    _ settings: Settings
  ) throws(SettingsError) -> HTTPServerIdentity? {
    let tls = settings.api.tls
    switch (tls.certificateFile, tls.keyFile) {
    case (nil, nil): return nil
    case (_?, nil), (nil, _?):
      throw problem("api.tls.key_file", "goes with api.tls.certificate_file, and neither alone")
    case (let certificate?, let key?):
      return HTTPServerIdentity(
        certificates: try text(certificate, "api.tls.certificate_file"),
        privateKey: try text(key, "api.tls.key_file", isSecret: true))
    }
  }

  /// Reads the API's certificate; nil where none is set.
  /// - Throws: also where the key belongs to another certificate.
  package static func apiCertificate(
    _ settings: Settings
  ) throws(SettingsError) -> CertificateContents? {
    guard let identity = try apiIdentity(settings) else { return nil }
    do {
      let both = Array((identity.privateKey + "\n" + identity.certificates).utf8)
      return try ClientCertificate(file: both, passphrase: nil).contents
    } catch {
      throw problem("api.tls.certificate_file", error.message, hint: error.hint)
    }
  }

  private static let maximumPEMBytes = 256 << 10

  private static func text(
    _ path: String, _ key: String, isSecret: Bool = false
  ) throws(SettingsError) -> String {
    do throws(SettingComplaint) {
      return isSecret
        ? try BoundedFile.readSecret(path, maximumBytes: maximumPEMBytes).text
        : try BoundedFile.read(path, maximumBytes: maximumPEMBytes).text
    } catch {
      throw problem(key, error.message, hint: error.hint)
    }
  }

  static func isLoopback(_ host: String) -> Bool {
    // A name may begin like an address.
    var address = in_addr()
    return host == "localhost" || host == "::1"
      || (host.hasPrefix("127.") && inet_pton(AF_INET, host, &address) == 1)
  }
}
