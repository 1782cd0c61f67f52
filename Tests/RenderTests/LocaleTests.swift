import Model
import Testing
import Text

@testable import Render

@Suite("Locales")
struct LocaleTests {
  private let shipped = LocaleTable(
    names: ["en", "zh-Hans", "zh-Hant", "ja", "ko", "es", "pt-BR", "ar"], defaultIndex: 0)

  private func resolve(_ locale: String, in table: LocaleTable) -> String {
    let cache = LocaleCache()
    let first = Array(locale.utf8).withUnsafeBytes { cache.index(of: $0, in: table) }
    let second = Array(locale.utf8).withUnsafeBytes { cache.index(of: $0, in: table) }
    #expect(first == second, "the cache says otherwise")
    return table.names[first]
  }

  @Test(
    "Readers get the variant that they expect",
    arguments: [
      ("en", "en"), ("en-US", "en"), ("zh-Hant-TW", "zh-Hant"), ("zh_Hant_TW", "zh-Hant"),
      ("ZH-HANT", "zh-Hant"), ("zh-TW", "zh-Hant"), ("zh-HK", "zh-Hant"), ("zh_MO", "zh-Hant"),
      ("zh-CN", "zh-Hans"), ("zh-SG", "zh-Hans"), ("zh", "zh-Hans"), ("zh-Hans-HK", "zh-Hans"),
      ("yue", "zh-Hant"), ("yue-Hans", "zh-Hans"), ("yue-CN", "zh-Hans"), ("cmn-TW", "zh-Hant"),
      ("yue-HK", "zh-Hant"), ("nan-TW", "zh-Hant"), ("nan", "zh-Hans"), ("wuu", "zh-Hans"),
      ("wuu-CN", "zh-Hans"), ("hak-TW", "zh-Hant"), ("gan-Hant", "zh-Hant"), ("mni-Mtei", "en"),
      ("zh-CHT", "zh-Hant"), ("zh-chs", "zh-Hans"), ("arb", "ar"),
      ("pt", "pt-BR"), ("pt-PT", "pt-BR"), ("pt_AO", "pt-BR"), ("es-419", "es"), ("es-MX", "es"),
      ("ar-EG", "ar"), ("ar-u-nu-latn", "ar"), ("ja-JP-u-ca-japanese", "ja"), ("ko_KR.UTF-8", "ko"),
      ("es_ES@euro", "es"), ("zh_TW_#Hant", "zh-Hant"), ("zh__#Hans", "zh-Hans"),
      ("zh_CN.GB18030@pinyin", "zh-Hans"), ("ja_JP_JP_#u-ca-japanese", "ja"), ("jpn", "ja"),
      ("zh-Hant-TW-u-ca-roc-co-stroke-hc-h23-nu-latn", "zh-Hant"),
      (
        "zh_Hant_TW@calendar=roc;collation=stroke;currency=TWD;numbers=hanidec;rg=hkzzzz", "zh-Hant"
      ),
      ("ko-KR-x-private", "ko"), ("por-BR", "pt-BR"), ("fr", "en"), ("de-DE", "en"),
    ])
  func shippedVariants(_ locale: String, _ variant: String) {
    #expect(resolve(locale, in: shipped) == variant)
  }

  @Test(
    "What is no tag gets the default",
    arguments: [
      "", "x", "-", "_", "ja-", "-ja", "j1", "英語", "ja JP", "ja\u{0}", "zh--TW", "ja-abcdefghi",
      String(repeating: "ja-", count: 5_000), "../../etc", "{{text.x}}", "zh-Hant-TW\n",
    ])
  func hostile(_ locale: String) {
    #expect(resolve(locale, in: shipped) == "en")
  }

  @Test("The chain: the tag, what is left of it, the script or standard, the language")
  func chains() throws {
    func candidates(_ tag: String) throws -> [String] { try #require(LocaleTag(tag)).candidates }
    #expect(try candidates("zh-Hant-TW") == ["zh-hant-tw", "zh-hant", "zh"])
    #expect(try candidates("zh-TW") == ["zh-tw", "zh-hant-tw", "zh-hant", "zh"])
    #expect(try candidates("fr-CH-1996") == ["fr-ch-1996", "fr-ch", "fr"])
    #expect(try candidates("it-u-co-phonebk") == ["it"])
    #expect(try candidates("zh_TW_#Hant") == ["zh-hant-tw", "zh-hant", "zh"])
    #expect(try candidates("sr_RS@latin") == ["sr-latn-rs", "sr-latn", "sr"])
    #expect(
      try candidates("nan-TW") == ["nan-tw", "nan", "zh-hant-tw", "zh-hant", "zh"])
    #expect(try candidates("wuu") == ["wuu", "zh-hans", "zh"])
    #expect(try candidates("gsw-CH") == ["gsw-ch", "gsw", "de"])
    #expect(try candidates("es-AR") == ["es-ar", "es-419", "es"])
    #expect(try candidates("pt-MZ") == ["pt-mz", "pt-pt", "pt"])
    #expect(try candidates("nb-NO") == ["no-no", "no"])
    #expect(try candidates("iw") == ["he"])
  }

  @Test("Nobody gets another script of the language; the same language counts before the default")
  func scripts() {
    let hans = LocaleTable(names: ["en", "zh-CN", "fr-CA"], defaultIndex: 0)
    #expect(resolve("zh-TW", in: hans) == "en")
    #expect(resolve("zh-Hant", in: hans) == "en")
    #expect(resolve("zh-Hans", in: hans) == "zh-CN")
    #expect(resolve("fr-BE", in: hans) == "fr-CA")
    #expect(resolve("wuu", in: hans) == "zh-CN")
    #expect(resolve("nan-TW", in: hans) == "en")
    let both = LocaleTable(names: ["pt-PT", "pt-BR", "no", "es-419", "es"], defaultIndex: 0)
    #expect(resolve("pt", in: both) == "pt-BR")
    #expect(resolve("pt-AO", in: both) == "pt-PT")
    #expect(resolve("nb-NO", in: both) == "no")
    #expect(resolve("nn", in: both) == "no")
    #expect(resolve("es-MX", in: both) == "es-419")
    #expect(resolve("es-ES", in: both) == "es")
  }

  @Test("An alias goes before the language")
  func aliases() throws {
    let template = try Samples.compile(Samples.template + "\naliases:\n  fr: ja\n  zh-HK: en")
    #expect(resolve("fr-CA", in: template.table) == "ja")
    #expect(resolve("zh-HK", in: template.table) == "en")
    #expect(resolve("zh-TW", in: template.table) == "zh-Hant")
  }

  @Test("The cache tells locales apart that fall on the same place, or share their words")
  func cache() {
    let cache = LocaleCache()
    var random = SplitMix64(seed: 7)
    let letters = Array("abehjknrstz-ASU_01".utf8)
    for _ in 0..<20_000 {
      let locale = (0..<Int.random(in: 0...20, using: &random)).map { _ in
        letters[Int.random(in: 0..<letters.count, using: &random)]
      }
      locale.withUnsafeBytes {
        let expected = shipped.resolve($0).index
        if cache.index(of: $0, in: shipped) != expected { Issue.record("\(locale)") }
      }
    }
  }

  @Test("What nobody knows is counted for each who has it, and what a template has is known")
  func unknown() {
    let table = LocaleTable(names: ["en", "jp"], defaultIndex: 0)
    let cache = LocaleCache()
    for locale in ["fr", "de-DE", "jp", "jp-JP", "", "eo", "tlh"] {
      _ = Array(locale.utf8).withUnsafeBytes { cache.index(of: $0, in: table) }
    }
    #expect(cache.takeUnknown() == 0)
    let long = String(repeating: "en-", count: 40)
    for locale in ["C", "POSIX", "cn", "cn", "日本", "english", "cn", long] {
      let index = Array(locale.utf8).withUnsafeBytes { cache.index(of: $0, in: table) }
      #expect(index == 0)
    }
    #expect(cache.takeUnknown() == 8)
    #expect(cache.takeUnknown() == 0)
  }

  @Test("The cache compares whole locales: their ends and their lengths too")
  func cacheKeys() {
    let letters = "abcdefghijkl".map(String.init)
    let regions = letters.flatMap { first in letters.map { "zh-Hant-" + first + $0 } }
    let table = LocaleTable(names: ["en", "ja"] + regions, defaultIndex: 0)
    let cache = LocaleCache()
    for locale in regions + regions.reversed() + ["ja", "\u{0}ja", "ja", "\u{0}\u{0}ja"] {
      let bytes = Array(locale.utf8)
      let index = bytes.withUnsafeBytes { cache.index(of: $0, in: table) }
      let expected = table.names.firstIndex(of: locale) ?? 0
      if index != expected { Issue.record("\(bytes) gets \(table.names[index])") }
    }
  }
}
